import { expect, test } from "vitest";

import { rangeOf, timesOf } from "./filters";

const BUCKETS = ["2026-05-04T12:00:00Z", "2026-05-04T12:01:00Z", "2026-05-04T12:02:00Z"].map((at) => ({ at }));

test("a drawn range becomes instants and comes back as the same bars", () => {
  const { since, until } = timesOf(BUCKETS, 1, 2, 60);
  expect(until).toBe("2026-05-04T12:03:00.000Z");
  expect(rangeOf(BUCKETS, since, until)).toEqual([1, 2]);
});

test("no range is no range, and one that has scrolled away is none", () => {
  expect(rangeOf(BUCKETS, "", "")).toBeNull();
  expect(rangeOf(BUCKETS, "2026-05-03T12:00:00Z", "2026-05-03T12:10:00Z")).toBeNull();
});
