// What the ledger of preemptions says of each round: rules, victims, costs.
import type { Round, RoundVictim } from "@/lib/api/types";
import { gpuHours } from "@/lib/format/amounts";

import { lostWords } from "./rounds";

/** The rules by which the victims were preempted, each once. */
export function rulesListOf({ victims }: Round): string[] {
  return [...new Set(victims.map(({ reason }) => reason))];
}

/** The same in words. */
export function rulesOf(round: Round): string {
  return rulesListOf(round).join(", ");
}

/** What the victims lost, the most first: "b/x 1.1 GPU-h, b/y 0.8 GPU-h". */
export function lossesWords(round: Round): string {
  const victims = round.victims.toSorted((one, other) => gpuSecondsOf([other]) - gpuSecondsOf([one]));
  return victims.map((victim) => `${victim.workload} ${costWords({ ...round, victims: [victim] })}`).join(", ");
}

/** The victims in few words: one by name, more by count and queue. */
export function victimWords({ victims }: Round): string {
  const [first] = victims;
  if (first === undefined) return "none";
  if (victims.length === 1) return first.workload;
  const queues = [...new Set(victims.map(({ clusterQueue }) => clusterQueue))];
  return `${victims.length} of ${queues.join(" and ")}: ${first.workload} and ${victims.length - 1} more`;
}

/** The GPU-seconds of work that victims had done and lost. */
export function gpuSecondsOf(victims: RoundVictim[]): number {
  return victims.reduce((sum, { freed, runningSeconds }) => {
    const gpus = Object.entries(freed).reduce((total, [key, amount]) => total + (key.endsWith("/gpu") ? amount : 0), 0);
    return sum + gpus * runningSeconds;
  }, 0);
}

/** What a round cost: GPU-hours, or CPU-hours where no GPU was freed. */
export function costWords({ victims }: Pick<Round, "victims">): string {
  const seconds = gpuSecondsOf(victims);
  return seconds > 0 ? gpuHours(seconds) : lostWords(victims);
}

/** The candidates that were refused, with the rule of each. */
export function refusedWords({ refused = [] }: Round): string {
  return refused.length === 0 ? "No candidate was refused" : refused.map(({ workload, rule }) => `${workload}: ${rule}`).join("\n");
}
