import { expect, test } from "vitest";

import type { TimelineEntry } from "@/lib/api/types";

import { foldReasons, marksOf, stretchesOf } from "./life";

function entry(type: string, at: string): TimelineEntry {
  return { position: Date.parse(at), at, type: `workload.${type}`, actor: "scheduler", title: type, data: {} };
}

const LIFE = [
  entry("submitted", "2026-05-04T00:00:00Z"),
  entry("explained", "2026-05-04T00:00:01Z"),
  entry("quota_reserved", "2026-05-04T09:00:00Z"),
  entry("admitted", "2026-05-04T09:00:01Z"),
  entry("pods_ready", "2026-05-04T09:00:03Z"),
  entry("finished", "2026-05-04T10:00:00Z"),
];

test("a life is a row of stretches that ends with the workload", () => {
  const stretches = stretchesOf(LIFE, "2026-05-05T00:00:00Z");
  expect(stretches.map((stretch) => stretch.words)).toEqual(["Waiting", "Quota reserved", "Starting", "Running"]);
  expect(stretches[0]?.seconds).toBe(9 * 3600);
});

test("nine idle hours do not crush two busy seconds", () => {
  const stretches = stretchesOf(LIFE, "2026-05-05T00:00:00Z");
  expect(Math.min(...stretches.map((stretch) => stretch.share))).toBeGreaterThan(0.04);
  expect(stretches.reduce((sum, stretch) => sum + stretch.share, 0)).toBeCloseTo(1);
});

test("a hold on a running workload does not interrupt its running", () => {
  const held = [...LIFE.slice(0, 5), entry("held", "2026-05-04T09:30:00Z")];
  expect(stretchesOf(held, "2026-05-04T10:00:00Z").at(-1)?.words).toBe("Running");
});

test("marks are newest first and tell only idle time worth a word", () => {
  const marks = marksOf(LIFE);
  expect(marks[0]?.entry.title).toBe("finished");
  expect(marks.map((mark) => Math.round(mark.idleSeconds))).toEqual([3597, 0, 0, 32_399, 0, 0]);
});

test("reasons that followed each other are folded under the newest, and nothing else is", () => {
  const reason = (second: number) => entry("explained", `2026-05-04T00:00:0${second}Z`);
  const held = entry("held", "2026-05-04T00:00:04Z");
  const groups = foldReasons(marksOf([entry("submitted", "2026-05-04T00:00:00Z"), reason(1), reason(2), reason(3), held, reason(5)]));
  expect(groups.map((group) => [group[0].entry.title, group.length])).toEqual([
    ["explained", 1],
    ["held", 1],
    ["explained", 3],
    ["submitted", 1],
  ]);
  expect(groups[2]?.[0].entry.at).toBe("2026-05-04T00:00:03Z");
});
