import { expect, test } from "vitest";

import { isComplete, partsOf, rangeOf, timesOf, tokensOf, withToken, withoutToken } from "./filters";

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

const NONE = { type: "", stream: "", actor: "", correlation: "", since: "", until: "" };

test("filters are tokens, several of a field where they are alternatives", () => {
  const filters = { ...NONE, type: "workload.evicted,node.cordoned", actor: "user:ana" };
  expect(tokensOf(filters)).toEqual(["type:workload.evicted", "type:node.cordoned", "actor:user:ana"]);
  expect(withToken(filters, "type:workload.held")).toEqual({ type: "workload.evicted,node.cordoned,workload.held" });
  expect(withToken(filters, "actor:scheduler")).toEqual({ actor: "scheduler" });
  expect(withToken(NONE, "object:node/")).toEqual({ stream: "node/" });
  expect(withoutToken(filters, "type:workload.evicted")).toEqual({ type: "node.cordoned" });
  expect(withoutToken(filters, "actor:user:ana")).toEqual({ actor: "" });
});

test("a token needs a known field and a value", () => {
  expect(partsOf("actor:user:ana")).toEqual({ field: "actor", value: "user:ana" });
  expect(["type:", "evicted", "owner:ana", "type:a,b"].filter(isComplete)).toEqual([]);
  expect(isComplete(" object:workload/team-a/train ")).toBe(true);
});
