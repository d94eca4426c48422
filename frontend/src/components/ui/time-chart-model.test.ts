import { expect, test } from "vitest";

import { beginsWithLog, clockOf, everyNth, heldTo, stackedOf } from "./time-chart-model";

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

test("a table has few rows, the newest among them", () => {
  const values = Array.from({ length: 97 }, (_, index) => index);
  const rows = everyNth(values, 25);
  expect(rows.length).toBeLessThanOrEqual(25);
  expect(rows.at(-1)).toBe(96);
  expect(everyNth([1, 2], 25)).toEqual([0, 1]);
});
