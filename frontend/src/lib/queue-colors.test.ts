import { expect, it } from "vitest";

import { queueColors, slotsOf } from "./queue-colors";

it("gives each queue a color of its own, in order of the names", () => {
  expect([...slotsOf(["b", "a", "q10", "q9"], new Map())]).toEqual([
    ["a", 0],
    ["b", 1],
    ["q9", 2],
    ["q10", 3],
  ]);
});

it("lets a queue keep its color beside others", () => {
  const known = new Map([
    ["b", 1],
    ["c", 1],
    ["d", 4],
  ]);
  expect(slotsOf(["a", "b", "d"], known)).toEqual(new Map([["a", 0], ["b", 1], ["d", 4]]));
  expect(slotsOf(["b", "c"], known).get("c"), "another queue has its color here").toBe(0);
});

it("shows a queue in one color on all pages", () => {
  const before = queueColors(["vision", "language"]);
  expect(queueColors(["attention", "vision"]).get("vision")).toBe(before.get("vision"));
  expect(new Set(queueColors(["a", "b", "c", "d", "e", "f"]).values()).size).toBe(6);
  expect(queueColors(["a", "b", "c", "d", "e", "f", "g"]).has("g")).toBe(false);
});
