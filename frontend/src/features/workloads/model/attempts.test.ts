import { expect, test } from "vitest";

import type { Explanation, TimelineEntry } from "@/lib/api/types";

import { attemptsOf } from "./attempts";

function entry(type: string, minute: number): TimelineEntry {
  const at = new Date(Date.UTC(2026, 4, 4, 12, minute)).toISOString();
  return { position: minute, at, type: `workload.${type}`, actor: "scheduler", title: type, data: {} };
}

const PREEMPTED = [entry("submitted", 0), entry("quota_reserved", 2), entry("admitted", 3), entry("pods_ready", 4), entry("evicted", 10), entry("stopped", 11)];
const NOW = new Date(Date.UTC(2026, 4, 4, 12, 30)).toISOString();

function told(entries: TimelineEntry[], failed: object[] = [], earlier = 0, latest = 0) {
  const found = attemptsOf({ entries, earlier }, failed as unknown as Explanation["failedPods"], latest, NOW);
  return found.map(({ number, spans, end }) => [number, spans.map(({ words }) => words).join(", "), end]);
}

test("each attempt has its phases, the newest first, and how it ended", () => {
  expect(told(PREEMPTED)).toEqual([
    [2, "Pending", ""],
    [1, "Pending, Quota reserved, Starting, Running, Stopping", "evicted"],
  ]);
  expect(told([...PREEMPTED, entry("quota_reserved", 12), entry("finished", 20)])[0]).toEqual([2, "Pending, Quota reserved", "finished"]);
});

test("a failed pod tells how its attempt ended", () => {
  const pod = { attempt: 1, rank: 3, podSet: "main", index: 3, run: 1, exitCode: 137, reason: "OOMKilled" };
  expect(told(PREEMPTED, [pod])[1]?.[2]).toBe("exit 137 on rank 3, out of memory");
});

test("a reservation that is dropped ends an attempt, and one deactivated meanwhile stays inactive", () => {
  expect(told([entry("submitted", 0), entry("quota_reserved", 2), entry("reservation_dropped", 3)])).toEqual([
    [2, "Pending", ""],
    [1, "Pending, Quota reserved", "reservation_dropped"],
  ]);
  expect(told([...PREEMPTED.slice(0, 4), entry("deactivated", 9), ...PREEMPTED.slice(4)])[0]?.[1]).toBe("Inactive");
});

test("where earlier events are not known, the server's number of the last attempt counts", () => {
  expect(told([entry("pods_ready", 4), entry("evicted", 10)], [], 50, 7).map(([number]) => number)).toEqual([8]);
  expect(told([entry("quota_reserved", 4), entry("evicted", 10)], [], 50, 7).map(([number]) => number)).toEqual([7]);
});
