import { expect, test } from "vitest";

import type { Round } from "@/lib/api/types";

import { clampShown, sentenceOf, storyline } from "./storyline";

function round(id: string, at: string, preemptor: string, ...victims: string[]): Round {
  return {
    id,
    stage: "Completed",
    preemptor,
    preemptorPriority: 9,
    clusterQueue: "q",
    admission: { clusterQueue: "q", podSetAssignments: [] },
    victims: victims.map((workload) => ({
      workload,
      clusterQueue: "q",
      reason: "InClusterQueue",
      priority: 0,
      pods: 1,
      freed: {},
      runningSeconds: 1,
      released: true,
      stage: "Released",
      mode: "Immediate",
    })),
    guaranteeing: false,
    budgetViolations: 0,
    considered: 1,
    basisPosition: 1,
    committedAt: `2026-05-04T12:00:${at}Z`,
  };
}

test("columns run with time whatever order the ledger lists them in", () => {
  const story = storyline([round("2", "20", "b", "c"), round("1", "10", "a", "b")]);
  expect(story.columns.map((column) => column.round.id)).toEqual(["1", "2"]);
  expect(story.workloads).toEqual(["a", "b", "c"]);
});

test("a victim that makes others leave later links the two rounds", () => {
  const story = storyline([round("1", "10", "a", "b"), round("2", "20", "x", "y"), round("3", "30", "b", "c")]);
  expect(story.links).toEqual([{ row: 1, from: 0, to: 2 }]);
});

test("a workload that was never a victim links nothing", () => {
  expect(storyline([round("1", "10", "a", "b"), round("2", "20", "a", "c")]).links).toEqual([]);
});

test("a column reaches from its highest to its lowest row", () => {
  const story = storyline([round("1", "10", "a", "b", "c"), round("2", "20", "c", "a")]);
  expect(story.columns[1]).toMatchObject({ top: 0, bottom: 2, preemptorRow: 2, victimRows: [0] });
});

test("only the newest rounds are drawn", () => {
  const story = storyline([round("1", "10", "a", "b"), round("2", "20", "c", "d")], 1);
  expect(story.workloads).toEqual(["c", "d"]);
});

test("the caption names a few victims and counts the rest", () => {
  expect(sentenceOf(round("1", "10", "a", "b", "c", "d", "e"))).toBe("a (priority 9) preempted b, c, d and 1 more.");
});

test("the slider stays within the story", () => {
  const story = storyline([round("1", "10", "a", "b"), round("2", "20", "c", "d")]);
  expect([clampShown(0, story), clampShown(9, story)]).toEqual([1, 2]);
});
