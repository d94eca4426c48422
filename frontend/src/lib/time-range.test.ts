import { expect, test } from "vitest";

import { apiBounds, beginningOf, boundsOf, fixedRange, parametersOf, rangeBetween, rangeIn, rangeWords, secondsOf } from "./time-range";

const NOW = Date.parse("2026-11-27T12:00:30Z");

test("an address without a range means the last 24 hours", () => {
  expect(rangeIn("")).toEqual({ last: "24h", from: "", to: "" });
  expect(rangeIn("?last=soon")).toEqual(rangeIn(""));
  expect(parametersOf(rangeIn(""))).toEqual({ last: "", from: "", to: "" });
});

test("two instants in an address are a fixed range, but not in the wrong order", () => {
  const search = "?from=2026-11-27T10:00:00Z&to=2026-11-27T11:00:00Z";
  expect(boundsOf(rangeIn(search), NOW)).toEqual([Date.parse("2026-11-27T10:00:00Z"), Date.parse("2026-11-27T11:00:00Z")]);
  expect(rangeIn("?to=2026-11-27T10:00:00Z&from=2026-11-27T11:00:00Z").last).toBe("24h");
});

test("a drawn range is the same from either end", () => {
  expect(rangeBetween(NOW, NOW - 1000)).toEqual(rangeBetween(NOW - 1000, NOW));
});

test("lengths are typed with their unit", () => {
  expect(secondsOf("90m")).toBe(5_400);
  expect(secondsOf(" 2 h ")).toBe(7_200);
  expect(secondsOf("0h")).toBeUndefined();
  expect(secondsOf("tomorrow")).toBeUndefined();
});

test("a preset asks the API from a full minute on, without an end", () => {
  expect(apiBounds(rangeIn("?last=1h"), NOW)).toEqual({ since: "2026-11-27T11:00:00.000Z" });
});

test("a link for others names instants", () => {
  const fixed = fixedRange(rangeIn("?last=1h"), NOW);
  expect(fixed.last).toBe("");
  expect(boundsOf(fixed, NOW + 9_999)).toEqual(boundsOf(rangeIn("?last=1h"), NOW));
  expect(rangeWords(fixed)).toContain(" to ");
});

test("the axis of a preset begins with the log where that is younger than half the range", () => {
  const day = { last: "24h", from: "", to: "" };
  const now = Date.parse("2026-11-27T12:00:00Z");
  expect(beginningOf(day, "2026-11-27T11:40:30Z", now)).toBe("2026-11-27T11:40:00.000Z");
  expect(beginningOf(day, "2026-11-26T20:00:00Z", now)).toBeUndefined();
  expect(beginningOf({ last: "", from: "2026-11-01T00:00:00Z", to: "2026-11-27T12:00:00Z" }, "2026-11-27T11:40:30Z", now)).toBeUndefined();
});
