import { expect, test } from "vitest";

import type { CapacityPoint, Causes, QueueRow, QueueSummary, SystemStatus, WaitTimes } from "@/lib/api/types";

import { cycleWords, largestQueues, pendingChange, schedulingOf, unschedulableOf, waitChange } from "./figures";

test("only causes of unschedulable workloads count as such", () => {
  const causes = [
    { kind: "NeverStarts", count: 18, gpuSeconds: 7 },
    { kind: "NodeNotReady", count: 8, gpuSeconds: 9 },
  ];
  expect(unschedulableOf({ causes } as Causes)).toEqual({ count: 18, gpuSeconds: 7 });
});

test("a halted partition is told before a lag", () => {
  const partition = (halted: string) => ({ halted }) as SystemStatus["partitions"][number];
  expect(schedulingOf({ partitions: [partition("")], headLagSeconds: 0.21, executors: 4, executorsConnected: 3 } as SystemStatus)).toEqual({ words: "ok", detail: "executors 3 of 4, lag 0.2 s" });
  expect(schedulingOf({ partitions: [partition("")], headLagSeconds: 75 } as SystemStatus).words).toBe("Behind");
  expect(schedulingOf({ partitions: [partition("error"), partition("")], headLagSeconds: 75 } as SystemStatus).words).toBe("1 partition halted");
});

test("the duration of cycles is in milliseconds, and none without a cycle", () => {
  const summary = (plans: number, p95Microseconds: number) => ({ total: { plans, p95Microseconds } }) as Parameters<typeof cycleWords>[0];
  expect(cycleWords(summary(3, 240_400))).toBe("cycle p95 240 ms");
  expect(cycleWords(summary(3, 4_240))).toBe("cycle p95 4.2 ms");
  expect(cycleWords(summary(0, 0))).toBe("");
});

function pendingAt(at: string, ...pending: number[]): CapacityPoint {
  return { position: 1, at, nominal: 1, offered: 1, groups: [], queues: pending.map((pendingWorkloads, index) => ({ clusterQueue: `q${index}`, nominal: 0, used: 0, pending: 0, pendingWorkloads })) };
}

test("pending workloads are compared with those at the beginning of the range", () => {
  const begin = pendingAt("2026-11-26T12:05:00Z", 10, 1);
  expect(pendingChange([begin, pendingAt("2026-11-27T12:00:00Z", 30, 3)])).toBe("+22 in 24 h");
  expect(pendingChange([begin, pendingAt("2026-11-26T12:20:00Z", 4, 0)])).toBe("\u22127 in 15 m");
  expect(pendingChange([begin, pendingAt("2026-11-26T12:20:00Z", 11)])).toBe("as 15 m ago");
  expect(pendingChange([begin]), "one instant is no course").toBeUndefined();
});

test("the wait of a day is compared with that of as many days as the log has", () => {
  const week = (dataSince: string, waitP95Seconds: number | null) => ({ since: "2026-11-20T12:00:00Z", until: "2026-11-27T12:00:00Z", dataSince, waitP95Seconds }) as WaitTimes;
  const day = { waitP95Seconds: 2460 } as QueueSummary;
  expect(waitChange(day, week("2026-01-01T00:00:00Z", 1980))).toBe("+8 m vs 7 d");
  expect(waitChange(day, week("2026-11-24T10:00:00Z", 2580))).toBe("\u22122 m vs 3 d");
  expect(waitChange(day, week("2026-01-01T00:00:00Z", 2460))).toBe("as in 7 d");
  expect(waitChange(day, week("2026-11-26T00:00:00Z", 1980)), "the day is most of the log").toBeUndefined();
  expect(waitChange(day, week("2026-01-01T00:00:00Z", null))).toBeUndefined();
});

test("the six queues with the most quota are shown by name, the others are counted", () => {
  const rows = ["a", "b", "c", "d", "e", "f", "g", "h"].map((clusterQueue, index) => ({ clusterQueue, nominal: index === 0 ? 0 : index === 7 ? 100 : 8 }) as QueueRow);
  const { shown, more } = largestQueues(rows, "");
  expect([shown.map(({ clusterQueue }) => clusterQueue), more]).toEqual([["b", "c", "d", "e", "f", "h"], 2]);
  expect(largestQueues(rows, "a")).toEqual({ shown: [rows[0]], more: 0 });
});
