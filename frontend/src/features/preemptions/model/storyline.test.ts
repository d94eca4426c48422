import { expect, test } from "vitest";

import type { Round } from "@/lib/api/types";

import { MAX_LANES, OTHER_QUEUES, clampShown, sentenceOf, storyline, timeAxis } from "./storyline";

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
  expect([story.by, story.lanes]).toEqual(["workload", ["a", "b", "c"]]);
});

test("a victim that makes others leave later links the two rounds", () => {
  const story = storyline([round("1", "10", "a", "b"), round("2", "20", "x", "y"), round("3", "30", "b", "c")]);
  expect(story.links).toEqual([{ row: 1, from: 0, to: 2 }]);
});

test("a workload that was never a victim links nothing", () => {
  expect(storyline([round("1", "10", "a", "b"), round("2", "20", "a", "c")]).links).toEqual([]);
});

test("a column has the lanes of its preemptor and its victims", () => {
  const story = storyline([round("1", "10", "a", "b", "c"), round("2", "20", "c", "a")]);
  expect(story.columns[1]).toMatchObject({ preemptorRow: 2, victims: [{ row: 0, count: 1 }] });
});

test("of many workloads a lane is a queue, with the number of its victims", () => {
  const names = Array.from({ length: MAX_LANES }, (_, number) => `w${number}`);
  const story = storyline([round("1", "10", "a", ...names)]);
  expect([story.by, story.lanes, story.links]).toEqual(["queue", ["q"], []]);
  expect(story.columns[0]?.victims).toEqual([{ row: 0, count: MAX_LANES }]);
});

test("queues beyond the last lane share it", () => {
  const many = Array.from({ length: MAX_LANES + 9 }, (_, number) => ({ ...round(String(number), "10", `p${number}`, `v${number}`), clusterQueue: `queue-${number}` }));
  const story = storyline(many);
  expect(story.lanes).toHaveLength(MAX_LANES);
  expect(story.lanes.at(-1)).toBe(OTHER_QUEUES);
});

test("columns stand by their time, and those of one time beside each other", () => {
  const story = storyline([round("1", "00", "a", "b"), round("2", "00", "c", "d"), round("3", "30", "e", "f"), round("4", "59", "g", "h")]);
  const axis = timeAxis(story.columns, { width: 619, margin: 10, gap: 20, tick: 100 });
  expect(axis.places.map(Math.round)).toEqual([10, 30, 315, 609]);
  expect([axis.width, axis.ticks]).toEqual([619, [0, 2, 3]]);
});

test("columns at the end of an axis stand within it", () => {
  const story = storyline([round("1", "00", "a", "b"), round("2", "58", "c", "d"), round("3", "58", "e", "f"), round("4", "58", "g", "h")]);
  expect(timeAxis(story.columns, { width: 600, margin: 10, gap: 20, tick: 100 })).toEqual({ places: [10, 550, 570, 590], width: 600, ticks: [0, 1] });
});

test("an axis is as wide as its columns need", () => {
  const story = storyline([round("1", "00", "a", "b"), round("2", "00", "c", "d"), round("3", "00", "e", "f")]);
  expect(timeAxis(story.columns, { width: 50, margin: 10, gap: 20, tick: 100 })).toEqual({ places: [10, 30, 50], width: 60, ticks: [0] });
});

test("only the newest rounds are drawn", () => {
  const story = storyline([round("1", "10", "a", "b"), round("2", "20", "c", "d")], 1);
  expect(story.lanes).toEqual(["c", "d"]);
});

test("the caption names a few victims and counts the rest", () => {
  expect(sentenceOf(round("1", "10", "a", "b", "c", "d", "e"))).toBe("a (priority 9) preempted b, c, d and 1 more.");
});

test("the slider stays within the story", () => {
  const story = storyline([round("1", "10", "a", "b"), round("2", "20", "c", "d")]);
  expect([clampShown(0, story), clampShown(9, story)]).toEqual([1, 2]);
});
