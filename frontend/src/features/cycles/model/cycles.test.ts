import { describe, expect, it } from "vitest";

import type { Cycle, CycleSummary } from "@/lib/api/types";

import { courseOf, durationWords, outcomeWords, perMinute } from "./cycles";

const cycle = { outcome: "Committed", decisions: 2, conflict: "" } as Cycle;
const point = (at: string, heads: number) => ({ at, heads, p50Microseconds: 10, p95Microseconds: 20, commitP95Microseconds: 5 });
const [first, second] = [point("2026-11-27T11:58:00Z", 1), point("2026-11-27T11:59:00Z", 2)];
const summary = {
  since: "2026-11-27T10:00:00Z",
  until: "2026-11-27T12:00:00Z",
  dataSince: "2026-11-27T11:58:00Z",
  stepSeconds: 60,
  total: { cycles: 6 },
  points: [first, second],
} as unknown as CycleSummary;

describe("cycles in words", () => {
  it("say how long and what came of it", () => {
    expect(durationWords(700)).toBe("700 µs");
    expect(durationWords(1_250)).toBe("1.3 ms");
    expect(durationWords(3_400_000)).toBe("3.4 s");
    expect(outcomeWords(cycle)).toBe("2 decisions");
    expect(outcomeWords({ ...cycle, outcome: "Conflict", conflict: "guard" })).toBe("Planned again: guard");
  });

  it("are counted a minute from the oldest record on", () => {
    expect(perMinute(summary)).toBe(3);
    expect(perMinute({ ...summary, dataSince: null })).toBe(0.05);
    expect(perMinute({ ...summary, since: summary.until, dataSince: null })).toBeUndefined();
  });
});

describe("the course of cycles", () => {
  const begin = Date.parse(first.at) / 1000;
  const courseTo = (at: string) => courseOf({ stepSeconds: 60, points: [first, { ...second, at }] as CycleSummary["points"] });

  it("has a value for each time with cycles", () => {
    const { times, heads, p95 } = courseOf(summary);
    expect(times).toEqual([begin, begin + 60]);
    expect([heads, p95]).toEqual([[1, 2], [20, 20]]);
  });

  it("breaks off where no cycle ran", () => {
    const late = courseTo("2026-11-27T12:08:00Z");
    expect(late.times).toEqual([begin, begin + 60, begin + 540, begin + 600]);
    expect([late.p50, late.heads]).toEqual([[10, null, null, 10], [1, 0, 0, 2]]);
    expect(courseTo("2026-11-27T12:00:00Z").times).toEqual([begin, begin + 60, begin + 120]);
  });
});
