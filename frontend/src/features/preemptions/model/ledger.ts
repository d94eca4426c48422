// What the ledger of preemptions says of each round and of all together: rules, victims, costs, pairs of queues.
import type { Round, RoundVictim } from "@/lib/api/types";
import { gpuHours } from "@/lib/format/amounts";

import { lostWords } from "./rounds";

const MIN_REPEATS = 3;

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

export interface PreemptorSum {
  preemptor: string;
  clusterQueue: string;
  priority: number;
  rules: string[];
  rounds: number;
  victims: number;
  gpuSeconds: number;
  /** When it preempted last. */
  last: string;
}

/** What each preemptor cost, the most costly first. */
export function preemptorSums(rounds: readonly Round[]): PreemptorSum[] {
  const sums = new Map<string, PreemptorSum>();
  for (const round of rounds) {
    const known = sums.get(round.preemptor);
    sums.set(round.preemptor, {
      preemptor: round.preemptor,
      clusterQueue: known?.clusterQueue ?? round.clusterQueue,
      priority: known?.priority ?? round.preemptorPriority,
      rules: [...new Set([...(known?.rules ?? []), ...rulesListOf(round)])],
      rounds: (known?.rounds ?? 0) + 1,
      victims: (known?.victims ?? 0) + round.victims.length,
      gpuSeconds: (known?.gpuSeconds ?? 0) + gpuSecondsOf(round.victims),
      last: known === undefined || Date.parse(known.last) < Date.parse(round.committedAt) ? round.committedAt : known.last,
    });
  }
  return [...sums.values()].sort((one, other) => other.gpuSeconds - one.gpuSeconds || other.victims - one.victims || one.preemptor.localeCompare(other.preemptor));
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

/** The same over all victims of some rounds. */
export function gpuSecondsLost(rounds: Round[]): number {
  return rounds.reduce((sum, { victims }) => sum + gpuSecondsOf(victims), 0);
}

/** What a round cost: GPU-hours, or CPU-hours where no GPU was freed. */
export function costWords({ victims }: Round): string {
  const seconds = gpuSecondsOf(victims);
  return seconds > 0 ? gpuHours(seconds) : lostWords(victims);
}

/** The candidates that were refused, with the rule of each. */
export function refusedWords({ refused = [] }: Round): string {
  return refused.length === 0 ? "No candidate was refused" : refused.map(({ workload, rule }) => `${workload}: ${rule}`).join("\n");
}

export interface QueuePair {
  preemptor: string;
  victim: string;
  rounds: number;
  victims: number;
  gpuSeconds: number;
}

/** Which queue preempted in which, the most costly pair first. */
export function queuePairs(rounds: Round[]): QueuePair[] {
  const pairs = new Map<string, QueuePair>();
  for (const { clusterQueue, victims } of rounds) {
    for (const queue of new Set(victims.map((victim) => victim.clusterQueue))) {
      const key = `${clusterQueue} ${queue}`;
      const pair = pairs.get(key) ?? { preemptor: clusterQueue, victim: queue, rounds: 0, victims: 0, gpuSeconds: 0 };
      const mine = victims.filter((victim) => victim.clusterQueue === queue);
      pairs.set(key, { ...pair, rounds: pair.rounds + 1, victims: pair.victims + mine.length, gpuSeconds: pair.gpuSeconds + gpuSecondsOf(mine) });
    }
  }
  return [...pairs.values()].sort((one, other) => other.gpuSeconds - one.gpuSeconds || other.rounds - one.rounds || one.preemptor.localeCompare(other.preemptor));
}

/** Pairs of workloads of which one preempted the other at least three times, the most frequent first. */
export function repeatedPairs(rounds: Round[]): { names: string[]; rounds: number }[] {
  const counts = new Map<string, number>();
  for (const { preemptor, victims } of rounds) {
    for (const { workload } of victims) {
      const key = [preemptor, workload].sort().join(" ");
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
  }
  return [...counts]
    .filter(([, count]) => count >= MIN_REPEATS)
    .sort(([, one], [, other]) => other - one)
    .map(([key, count]) => ({ names: key.split(" "), rounds: count }));
}
