import { expect, test } from "vitest";

import { rowOf } from "./rows-of-tests";
import { chosenIn, chosenOf, selectionRefusal } from "./selection";

const RUNS = rowOf({ name: "runs", uid: "1", phase: "Running" });
const WAITS = rowOf({ name: "waits", uid: "2" });
const BOTH = { "team-a/runs": true, "team-a/waits": true } as const;

test("rows that are loaded are selected as they are shown", () => {
  expect(chosenIn([RUNS, WAITS], { "team-a/runs": true }, null)).toEqual([chosenOf(RUNS)]);
});

test("all that match stay selected whether or not they are loaded, but for those taken out", () => {
  const frozen = { items: [chosenOf(WAITS), chosenOf(rowOf({ ...RUNS, phase: "Pending" }))], at: 0 };
  expect(chosenIn([RUNS], BOTH, frozen)).toEqual([chosenOf(WAITS), chosenOf(RUNS)]);
  expect(chosenIn([RUNS], { "team-a/runs": true }, frozen)).toEqual([chosenOf(RUNS)]);
});

test("a later workload of a name is not the one that was selected", () => {
  const frozen = { items: [chosenOf(WAITS)], at: 0 };
  expect(chosenIn([rowOf({ ...WAITS, uid: "3" })], BOTH, frozen).map(({ uid }) => uid)).toEqual(["2"]);
});

test("more than one action takes cannot be selected", () => {
  expect(selectionRefusal(10_000)).toBeUndefined();
  expect(selectionRefusal(10_001)).toContain("at most 10,000");
});
