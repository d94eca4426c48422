import { expect, test } from "vitest";

import type { Round, RoundVictim } from "@/lib/api/types";

import { costWords, lossesWords, refusedWords, rulesOf, victimWords } from "./ledger";

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
});

test("rules and refused candidates are told", () => {
  expect(rulesOf(round("a/p", [victim("b/x", "l"), victim("b/y", "l")]))).toBe("InCohortReclamation");
  expect(refusedWords(round("a/p", [], [{ workload: "b/z", rule: "NonPreemptible" } as never]))).toBe("b/z: NonPreemptible");
});

test("victims are told by what they lost, the most first", () => {
  const found = round("a/q", [victim("b/y", "language", 1, 3600), victim("b/z", "language", 8, 3600)]);
  expect(lossesWords(found)).toBe("b/z 8 GPU-h, b/y 1 GPU-h");
});
