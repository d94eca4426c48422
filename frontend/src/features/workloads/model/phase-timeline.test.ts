import { expect, test } from "vitest";

import type { TimelineEntry, TimelinePage } from "@/lib/api/types";

import { foldReasons, isEarlier, phaseTimelineOf, marksOf, phaseSpansOf, spanKey, spread } from "./phase-timeline";

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
  const stretches = phaseSpansOf(LIFE, "2026-05-05T00:00:00Z");
  expect(stretches.map((stretch) => stretch.words)).toEqual(["Pending", "Quota reserved", "Starting", "Running"]);
  expect(stretches[0]?.seconds).toBe(9 * 3600);
});

test("nine idle hours do not crush two busy seconds", () => {
  const stretches = phaseSpansOf(LIFE, "2026-05-05T00:00:00Z");
  expect(Math.min(...stretches.map((stretch) => stretch.share))).toBeGreaterThan(0.04);
  expect(stretches.reduce((sum, stretch) => sum + stretch.share, 0)).toBeCloseTo(1);
});

test("long idle time is folded, and is spread as far as the others keep a fifth", () => {
  const spans = phaseSpansOf(LIFE, "2026-05-05T00:00:00Z");
  expect(spans.map(({ isFolded }) => isFolded)).toEqual([true, false, false, false]);
  const [pending] = spans;
  const shown = spread(spans, new Set(pending && [spanKey(pending)]));
  expect(shown[0]?.isFolded).toBe(false);
  expect(shown[0]?.share).toBeCloseTo(0.8);
  expect(shown.reduce((sum, { share }) => sum + share, 0)).toBeCloseTo(1);
  expect(spread(spans, new Set())).toEqual(spans);
});

test("a hold on a running workload does not interrupt its running", () => {
  const held = [...LIFE.slice(0, 5), entry("held", "2026-05-04T09:30:00Z")];
  expect(phaseSpansOf(held, "2026-05-04T10:00:00Z").at(-1)?.words).toBe("Running");
});

test("a workload is inactive from its deactivation until it is activated, whatever it gives up meanwhile", () => {
  const ended = [...LIFE.slice(0, 3), entry("deactivated", "2026-05-04T09:00:06Z"), entry("evicted", "2026-05-04T09:00:06Z"), entry("stopped", "2026-05-04T09:00:07Z")];
  const words = (entries: TimelineEntry[]) => phaseSpansOf(entries, "2026-05-04T12:00:00Z").map((span) => span.words);
  expect(words(ended)).toEqual(["Pending", "Quota reserved", "Inactive", "Stopping", "Inactive"]);
  expect(words([...ended, entry("activated", "2026-05-04T11:00:00Z")]).at(-1)).toBe("Pending");
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

const reasons = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, index) => entry("explained", `2026-05-04T00:00:${String(from + index).padStart(2, "0")}Z`));
const SUBMITTED = entry("submitted", "2026-05-04T00:00:00Z");
const NEWEST_PAGE: TimelinePage = { position: 9, entries: reasons(21, 40).reverse(), earlier: 21, continue: "token" };
const EARLIER_PAGE: TimelinePage = { position: 9, entries: [...reasons(1, 20).reverse(), SUBMITTED], earlier: 0 };

test("pages make one life, oldest first, and the last of them tells how much is missing", () => {
  expect(phaseTimelineOf([NEWEST_PAGE]).earlier).toBe(21);
  const whole = phaseTimelineOf([NEWEST_PAGE, EARLIER_PAGE]);
  expect(whole.earlier).toBe(0);
  expect(whole.entries).toHaveLength(41);
  expect(whole.entries[0]).toBe(SUBMITTED);
  expect(whole.entries.map(({ position }) => position)).toEqual(whole.entries.map(({ position }) => position).sort((a, b) => a - b));
});

test("reasons that a page ends in are folded together with those of the page before", () => {
  const lengths = (pages: TimelinePage[]) => foldReasons(marksOf(phaseTimelineOf(pages).entries)).map((group) => group.length);
  expect(lengths([NEWEST_PAGE])).toEqual([20]);
  expect(lengths([NEWEST_PAGE, EARLIER_PAGE])).toEqual([40, 1]);
});

test("where only reasons are known yet, it waited", () => {
  const stretches = phaseSpansOf(phaseTimelineOf([NEWEST_PAGE]).entries, "2026-05-04T00:01:21Z");
  expect(stretches.map(({ words, seconds }) => [words, seconds])).toEqual([["Pending", 60]]);
});

test("a reason told under a hold does not end it", () => {
  const held = [SUBMITTED, entry("held", "2026-05-04T00:00:01Z"), ...reasons(2, 3)];
  expect(phaseSpansOf(held, "2026-05-04T00:01:00Z").map(({ words }) => words)).toEqual(["Pending", "On hold"]);
});

test("an event before all that are there is known by its position", () => {
  const life = phaseTimelineOf([NEWEST_PAGE]);
  const oldest = Date.parse("2026-05-04T00:00:21Z");
  expect(isEarlier(life, String(oldest - 1))).toBe(true);
  expect(isEarlier(life, String(oldest))).toBe(false);
  expect(isEarlier(life, "")).toBe(false);
  expect(isEarlier({ entries: [], earlier: 0 }, "1")).toBe(false);
});
