import { expect, test } from "vitest";

import type { Round, RoundVictim } from "@/lib/api/types";

import { costWords, gpuSecondsLost, lossesWords, preemptorSums, queuePairs, refusedWords, repeatedPairs, rulesOf, victimWords } from "./ledger";

const GPU = "a100/nvidia.com/gpu";

function victim(workload: string, clusterQueue: string, gpus = 4, runningSeconds = 900): RoundVictim {
  return { workload, clusterQueue, reason: "InCohortReclamation", freed: { [GPU]: gpus, "a100/cpu": 1000 }, runningSeconds } as unknown as RoundVictim;
}

function round(preemptor: string, victims: RoundVictim[], refused: Round["refused"] = []): Round {
  return { preemptor, clusterQueue: "vision", victims, refused } as unknown as Round;
}

test("one victim stands by its name, more by count and queue", () => {
  expect(victimWords(round("a/p", [victim("b/x", "language")]))).toBe("b/x");
  expect(victimWords(round("a/p", [victim("b/x", "language"), victim("b/y", "language")]))).toBe("2 of language: b/x and 1 more");
});

test("the cost is the work that victims had done", () => {
  const found = round("a/p", [victim("b/x", "language", 4, 900), victim("b/y", "language", 8, 1800)]);
  expect(costWords(found)).toBe("5 GPU-h");
  expect(gpuSecondsLost([found, found])).toBe(2 * (4 * 900 + 8 * 1800));
});

test("rules and refused candidates are told", () => {
  expect(rulesOf(round("a/p", [victim("b/x", "l"), victim("b/y", "l")]))).toBe("InCohortReclamation");
  expect(refusedWords(round("a/p", [], [{ workload: "b/z", rule: "NonPreemptible" } as never]))).toBe("b/z: NonPreemptible");
});

test("pairs of queues are summed, the most costly first", () => {
  const rounds = [round("a/p", [victim("b/x", "language"), victim("c/x", "robotics", 1)]), round("a/q", [victim("b/y", "language")])];
  expect(queuePairs(rounds).map(({ victim: queue, rounds: count, victims }) => [queue, count, victims])).toEqual([
    ["language", 2, 2],
    ["robotics", 1, 1],
  ]);
});

test("workloads that preempt each other again and again are told, whichever did", () => {
  const rounds = [round("a/p", [victim("b/x", "l")]), round("b/x", [victim("a/p", "l")]), round("a/p", [victim("b/x", "l")]), round("a/q", [victim("b/x", "l")])];
  expect(repeatedPairs(rounds)).toEqual([{ names: ["a/p", "b/x"], rounds: 3 }]);
});

test("preemptors are summed, the most costly first, and victims told by what they lost", () => {
  const small = { ...round("a/p", [victim("b/x", "language", 1, 900)]), committedAt: "2026-05-04T12:00:00Z" };
  const large = { ...round("a/q", [victim("b/y", "language", 1, 3600), victim("b/z", "language", 8, 3600)]), committedAt: "2026-05-04T11:00:00Z" };
  const sums = preemptorSums([small, large, { ...small, committedAt: "2026-05-04T12:30:00Z" }]);
  expect(sums.map(({ preemptor, rounds, victims }) => [preemptor, rounds, victims])).toEqual([
    ["a/q", 1, 2],
    ["a/p", 2, 2],
  ]);
  expect(sums[1]?.last).toBe("2026-05-04T12:30:00Z");
  expect(lossesWords(large)).toBe("b/z 8 GPU-h, b/y 1 GPU-h");
});
