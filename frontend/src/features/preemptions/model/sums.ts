// What preemptions cost in sum, as the server counted it: the headline, pairs of queues, workloads that repeat.
import type { PreemptionSummary } from "@/lib/api/types";
import { gpuHours } from "@/lib/format/amounts";
import { formatDuration, secondsBetween } from "@/lib/format/times";

/** More queues than these are not told apart in one table. */
export const MAX_QUEUES = 12;
/** So many sums of a kind the server gives at most. */
export const MAX_SUMS = 500;

export type QueuePair = PreemptionSummary["pairs"][number];

/** Everything in few words: "lost 41.2 GPU-h, 50 rounds". */
export function headlineWords({ gpuSeconds, rounds }: Pick<PreemptionSummary, "gpuSeconds" | "rounds">): string {
  return `lost ${gpuHours(gpuSeconds)}, ${rounds.toLocaleString("en")} ${rounds === 1 ? "round" : "rounds"}`;
}

export interface PairMatrix {
  /** ClusterQueues of preemptors, the most costly first. */
  preemptors: string[];
  /** ClusterQueues of victims, the most costly first. */
  victims: string[];
  pairs: Map<string, QueuePair>;
  /** The unit of the cells: without any GPU lost, victims are counted. */
  unit: "GPU-h" | "victims";
  /** How many queues have no row or column. */
  left: number;
}

/** Pairs of queues as a table, of the most costly queues. */
export function pairMatrix(pairs: readonly QueuePair[]): PairMatrix {
  const unit = pairs.some(({ gpuSeconds }) => gpuSeconds > 0) ? "GPU-h" : "victims";
  const costOf = ({ gpuSeconds, victims }: QueuePair) => (unit === "GPU-h" ? gpuSeconds : victims);
  const namesOf = (side: "preemptor" | "victim") => {
    const costs = new Map<string, number>();
    for (const pair of pairs) costs.set(pair[side], (costs.get(pair[side]) ?? 0) + costOf(pair));
    return [...costs].sort(([one, most], [other, least]) => least - most || one.localeCompare(other)).map(([name]) => name);
  };
  const [preemptors, victims] = [namesOf("preemptor"), namesOf("victim")];
  return {
    preemptors: preemptors.slice(0, MAX_QUEUES),
    victims: victims.slice(0, MAX_QUEUES),
    pairs: new Map(pairs.map((pair) => [pairKey(pair.preemptor, pair.victim), pair])),
    unit,
    left: new Set([...preemptors.slice(MAX_QUEUES), ...victims.slice(MAX_QUEUES)]).size,
  };
}

/** The name of a pair in a table of pairs. */
export function pairKey(preemptor: string, victim: string): string {
  return `${preemptor} ${victim}`;
}

/** What a pair cost, as a figure below the unit of the table. */
export function pairFigure({ gpuSeconds, victims }: QueuePair, unit: PairMatrix["unit"]): string {
  return unit === "victims" ? victims.toLocaleString("en") : gpuHours(gpuSeconds).replace(" GPU-h", "");
}

/** A pair as a sentence: "vision preempted 12 victims of language in 3 rounds, lost 31 GPU-h". */
export function pairWords({ preemptor, victim, rounds, victims, gpuSeconds }: QueuePair): string {
  const counts = `${victims} ${victims === 1 ? "victim" : "victims"} of ${victim} in ${rounds} ${rounds === 1 ? "round" : "rounds"}`;
  return `${preemptor} preempted ${counts}, lost ${gpuHours(gpuSeconds)}`;
}

/** How often two workloads preempted each other: "5 times in 9 m, rule InCohortReclamation". */
export function repeatWords({ rounds, rules, firstAt, lastAt }: PreemptionSummary["repeated"][number]): string {
  return `${rounds} times in ${formatDuration(secondsBetween(firstAt, lastAt))}, ${rules.length === 1 ? "rule" : "rules"} ${rules.join(", ")}`;
}
