import { expect, test } from "vitest";

import { partsIn, tokenOf } from "@/components/ui/filter-language";
import type { Round } from "@/lib/api/types";

import { filtersIn, filtersOf, LANGUAGE, tokensOf, valuesFor } from "./filters";

const NONE = filtersIn(() => "");

function round(preemptor: string, victim: string, reason: string): Round {
  return { preemptor, clusterQueue: "vision", cohort: "campus", victims: [{ workload: victim, clusterQueue: "language", cohort: "campus", reason }] } as unknown as Round;
}

const ROUNDS = [round("a/p", "b/x", "InClusterQueue"), round("a/q", "a/p", "InCohortReclamation"), round("a/q", "b/y", "InCohortReclamation")];

test("each filter is a token, and a token sets one filter", () => {
  expect(tokensOf({ ...NONE, cohort: "campus", rule: "InClusterQueue" })).toEqual(["cohort:campus", "rule:InClusterQueue"]);
  expect(filtersOf(["rule:InClusterQueue", "workload:team-a/train"])).toEqual({ ...NONE, rule: "InClusterQueue", workload: "team-a/train" });
  expect(tokenOf(LANGUAGE, " team-a/train ")).toBe("workload:team-a/train");
  expect(tokenOf(LANGUAGE, "phase:Running")).toBeUndefined();
});

const suggested = (draft: string) => valuesFor(partsIn(LANGUAGE, draft), ROUNDS);

test("values are suggested as the rounds have them, the most frequent first", () => {
  expect(suggested("rule:").map(({ token, words }) => `${token} ${words}`)).toEqual(["rule:InCohortReclamation 2 rounds", "rule:InClusterQueue 1 round"]);
  expect(suggested("workload:a/").map(({ token }) => token)).toEqual(["workload:a/p", "workload:a/q"]);
  expect(suggested("victimQueue:").map(({ token }) => token)).toEqual(["victimQueue:language"]);
  expect(suggested("preemptorQueue:").map(({ token }) => token)).toEqual(["preemptorQueue:vision"]);
  expect(suggested("clusterqueue:lan").map(({ token }) => token)).toEqual(["clusterQueue:language"]);
});
