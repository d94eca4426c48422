import { expect, test } from "vitest";

import { areaAt, beginsWithLog, clockOf, everyNth, heldTo, middlesOf, spread, stackedOf } from "./time-chart-model";

test("each area stands on the ones before it", () => {
  expect(stackedOf([[1, 2], [10, null], [100, 100]])).toEqual([[1, 2], [11, 2], [111, 102]]);
});

test("the last step holds to the end of the axis", () => {
  expect(heldTo(30, [10, 20], [[1, 2], [3, null]])).toEqual([[10, 20, 30], [1, 2, 2], [3, null, null]]);
  expect(heldTo(20, [10, 20], [[1, 2]])).toEqual([[10, 20], [1, 2]]);
  expect(heldTo(20, [], [[]])).toEqual([[], []]);
});

test("a long range names days, a short one the time of day", () => {
  const at = Date.parse("2026-11-27T12:00:00Z") / 1000;
  expect(clockOf(at, [at - 7 * 86_400, at])).toMatch(/27 Nov|28 Nov|26 Nov/);
  expect(clockOf(at, [at - 3_600, at])).toMatch(/^\d\d:\d\d$/);
  expect(clockOf(at, [at - 60, at])).toMatch(/^\d\d:\d\d:\d\d$/);
});

test("an axis that begins about with the log says since when", () => {
  expect(beginsWithLog([0, 100], 10)).toBe(true);
  expect(beginsWithLog([0, 100], 40), "the area before the log has room for words").toBe(false);
  expect(beginsWithLog([0, 100], -40), "the log is older than the axis").toBe(false);
  expect(beginsWithLog([0, 100], undefined)).toBe(false);
});

test("labels stand beside the areas that they name, and not over each other", () => {
  const stacked = stackedOf([[0, 20], [0, 0], [0, 60]]);
  expect(middlesOf(stacked, 100)).toEqual([0.9, 0.8, 0.5]);
  expect(spread([0.9, 0.8, 0.5], 0.2).map((place) => Number(place.toFixed(2)))).toEqual([1, 0.8, 0.5]);
  expect(spread([0.95, 0.95], 0.1).map((place) => Number(place.toFixed(2)))).toEqual([1, 0.9]);
});

test("a height is in the area that reaches it", () => {
  const stacked = stackedOf([[5], [3]]);
  expect([areaAt(stacked, 0, 4), areaAt(stacked, 0, 7), areaAt(stacked, 0, 9)]).toEqual([0, 1, undefined]);
});

test("a table has few rows, the newest among them", () => {
  const values = Array.from({ length: 97 }, (_, index) => index);
  const rows = everyNth(values, 25);
  expect(rows.length).toBeLessThanOrEqual(25);
  expect(rows.at(-1)).toBe(96);
  expect(everyNth([1, 2], 25)).toEqual([0, 1]);
});
