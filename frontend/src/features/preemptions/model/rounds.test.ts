import { expect, test } from "vitest";

import type { Round, RoundVictim } from "@/lib/api/types";
import { ruleWords } from "@/lib/format/rules";

import { countdownWords, freedWords, lostHours, lostWords, outcomeWords, podsWords, releasedCount, searchWords, stageWords, usedAfter } from "./rounds";

function victim(name: string, released: boolean): RoundVictim {
  return {
    workload: `team-b/${name}`,
    clusterQueue: "b",
    reason: "InCohortReclamation",
    priority: 0,
    pods: 2,
    freed: { "a100/cpu": 2000, "a100/nvidia.com/gpu": 4 },
    runningSeconds: 1800,
    released,
    stage: released ? "Released" : "Acknowledged",
    mode: "Soft",
  };
}

const ROUND: Round = {
  id: "1",
  stage: "Draining",
  preemptor: "team-a/train",
  preemptorPriority: 10,
  clusterQueue: "a",
  admission: { clusterQueue: "a", podSetAssignments: [] },
  victims: [victim("x", true), victim("y", false)],
  considered: 5,
  guaranteeing: true,
  budgetViolations: 0,
  basisPosition: 7,
  committedAt: "2026-05-04T12:00:00Z",
};

test("a victim that loses pods is told apart from one that is evicted as a whole", () => {
  expect(podsWords(victim("x", false))).toBe("2 pods");
  expect(podsWords({ ...victim("x", false), pods: 1, shrinksTo: { main: 4 } })).toBe("1 pod; 4 of main keep running");
  const named = { ...victim("x", false), pods: 3, shrinksTo: { main: 3 }, indices: { main: "1,4-5" } };
  expect(podsWords(named)).toBe("3 pods (main 1,4-5); 3 of main keep running");
});

test("a victim that stopped after the end of a round did not stop for it", () => {
  expect(stageWords({ ...victim("x", false), stage: "LeftLater" })).toBe("Stopped after the preemption ended");
  expect(releasedCount({ ...ROUND, victims: [{ ...victim("x", false), stage: "LeftLater" }] })).toBe(0);
});

test("a draining round says how many victims stopped", () => {
  expect(releasedCount(ROUND)).toBe(1);
  expect(outcomeWords(ROUND)).toBe("1 of 2 victims stopped");
});

test("a completed round says how long the preemptor waited", () => {
  const done = { ...ROUND, stage: "Completed", endedAt: "2026-05-04T12:01:30Z" };
  expect(outcomeWords(done)).toBe("Admitted after 1 m 30 s");
});

test("what is freed is summed by flavor and resource, devices first", () => {
  expect(freedWords(ROUND.victims)).toBe("8 GPU, 4 CPU of a100");
});

test("lost work counts pieces times hours", () => {
  expect(lostHours(ROUND.victims, "nvidia.com/gpu")).toBe(4);
});

test("rules are told in words, unknown ones by name", () => {
  expect(ruleWords("InClusterQueue")).toBe("lower priority in the same ClusterQueue (InClusterQueue)");
  expect(ruleWords("SomethingNew")).toBe("SomethingNew");
});

test("a round that lost its place says why", () => {
  const lost = { ...ROUND, stage: "Invalidated", invalidatedBy: "HostLost" };
  expect(outcomeWords(lost)).toBe("Placement lost (a host failed); searching again");
});

test("a victim says where it stands", () => {
  expect(ROUND.victims.map(stageWords)).toEqual(["Stopped", "Checkpointing"]);
});

test("lost work is told in hours of what people look for", () => {
  expect(lostWords(ROUND.victims)).toBe("4.0 GPU-hours, 2.0 CPU-hours");
});

test("a deadline is counted down, and then how long ago it passed", () => {
  const now = Date.parse("2026-05-04T12:00:00Z");
  expect(countdownWords("2026-05-04T12:04:12Z", now)).toBe("4 m 12 s to the deadline");
  expect(countdownWords("2026-05-04T11:59:50Z", now)).toBe("deadline passed 10 s ago");
});

test("a search says what it went through, and that not all refused candidates are named", () => {
  const refused = Array.from({ length: 20 }, () => ({ workload: "a/x", rule: "NonPreemptible", code: "" }));
  const victims = [victim("x", true)];
  expect(searchWords({ considered: 24, refused: refused.slice(0, 2), victims })).toBe("24 candidates, 2 protected, 1 preempted");
  expect(searchWords({ considered: 1, refused, victims })).toBe("1 candidate, 20 or more protected, 1 preempted");
});

test("what is used after a round is without its victims and with its preemptor", () => {
  const figure = { clusterQueue: "b", flavor: "a100", resource: "nvidia.com/gpu", nominal: 48, used: 45, wanted: 3, available: 3 };
  expect(usedAfter({ victims: [victim("x", true), victim("y", false)] }, figure)).toBe(40);
  expect(usedAfter({ victims: [victim("x", true)] }, { ...figure, clusterQueue: "other", wanted: 0 })).toBe(45);
});
