import { expect, test } from "vitest";

import type { Round } from "@/lib/api/types";

import { changeOf, filtersIn, suggestionsOf, tokensOf } from "./filters";

const NONE = filtersIn(() => "");

function round(preemptor: string, victim: string, reason: string): Round {
  return { preemptor, clusterQueue: "vision", cohort: "campus", victims: [{ workload: victim, clusterQueue: "language", cohort: "campus", reason }] } as unknown as Round;
}

const ROUNDS = [round("a/p", "b/x", "InClusterQueue"), round("a/q", "a/p", "InCohortReclamation"), round("a/q", "b/y", "InCohortReclamation")];

test("each filter is a token, and a token sets one filter", () => {
  expect(tokensOf({ ...NONE, cohort: "campus", rule: "InClusterQueue" })).toEqual(["cohort:campus", "rule:InClusterQueue"]);
  expect(changeOf("rule:InClusterQueue")).toEqual({ rule: "InClusterQueue" });
  expect(changeOf(" team-a/train ")).toEqual({ workload: "team-a/train" });
  expect(changeOf("rule:")).toBeUndefined();
  expect(changeOf("phase:Running")).toBeUndefined();
});

test("values are suggested as the rounds have them, the most frequent first", () => {
  expect(suggestionsOf("rule:", ROUNDS).map(({ token, words }) => `${token} ${words}`)).toEqual(["rule:InCohortReclamation 2 rounds", "rule:InClusterQueue 1 round"]);
  expect(suggestionsOf("workload:a/", ROUNDS).map(({ token }) => token)).toEqual(["workload:a/p", "workload:a/q"]);
  expect(suggestionsOf("victimQueue:", ROUNDS).map(({ token }) => token)).toEqual(["victimQueue:language"]);
  expect(suggestionsOf("preemptorQueue:", ROUNDS).map(({ token }) => token)).toEqual(["preemptorQueue:vision"]);
  expect(suggestionsOf("co", ROUNDS).map(({ token }) => token)).toEqual(["cohort:"]);
  expect(suggestionsOf("clusterqueue:lan", ROUNDS).map(({ token }) => token)).toEqual(["clusterQueue:language"]);
});
