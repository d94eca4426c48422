import { expect, test } from "vitest";

import { isTouched, topicsOf } from "./topics";

test("an event of one workload touches that workload's page and no other's", () => {
  const topics = new Set(topicsOf("workload.explained", "workload/team-a/train"));
  expect(isTouched(["workload", "team-a/train", "timeline"], topics)).toBe(true);
  expect(isTouched(["workload", "team-a/other"], topics)).toBe(false);
  expect(isTouched(["workloads", {}], topics)).toBe(true);
});

test("the map changes when a place is taken or given back, not when a reason is written", () => {
  expect(topicsOf("workload.quota_reserved", "workload/a/b")).toContain("topology");
  expect(topicsOf("workload.explained", "workload/a/b")).not.toContain("topology");
});

test("a round touches the ledger", () => {
  expect(topicsOf("round.committed", "round/1")).toContain("preemptions");
});

test("an unknown kind of object still refreshes the log and the objects", () => {
  expect(topicsOf("holiday.declared", "holiday/x")).toEqual(["events", "history", "objects"]);
});
