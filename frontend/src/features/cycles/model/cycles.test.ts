import { describe, expect, it } from "vitest";

import type { Causes, Cycle, CycleSummary, Fact } from "@/lib/api/types";

import { conflictMarks, courseOf, decisionsOf, durationWords, outcomeWords, perMinute, stalledCause } from "./cycles";

const cycle = { outcome: "Committed", decisions: 2, conflict: "" } as Cycle;
const point = (at: string, heads: number) => ({ at, heads, conflicts: heads - 1, planningP50Microseconds: 10, planningP95Microseconds: 20, commitP50Microseconds: 3, commitP95Microseconds: 5 });
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
    const { times, heads, planP95, commitP50 } = courseOf(summary);
    expect(times).toEqual([begin, begin + 60]);
    expect([heads, planP95, commitP50]).toEqual([[1, 2], [20, 20], [3, 3]]);
  });

  it("breaks off where no cycle ran", () => {
    const late = courseTo("2026-11-27T12:08:00Z");
    expect(late.times).toEqual([begin, begin + 60, begin + 540, begin + 600]);
    expect([late.planP50, late.heads]).toEqual([[10, null, null, 10], [1, 0, 0, 2]]);
    expect(courseTo("2026-11-27T12:00:00Z").times).toEqual([begin, begin + 60, begin + 120]);
  });
});

it("marks times with conflicts, which lead to the cycles of that time", () => {
  const [mark, ...others] = conflictMarks(summary);
  expect(others).toEqual([]);
  expect(mark).toMatchObject({ words: "1 conflict", kind: "conflict", address: "/cycles?from=2026-11-27T11%3A59%3A00.000Z&to=2026-11-27T12%3A00%3A00.000Z" });
});

it("tells the last decision about each workload in the order of evaluation, and victims without a place", () => {
  const fact = (type: string, stream: string) => ({ type, stream }) as Fact;
  const events = [fact("workload.explained", "workload/a/x"), fact("workload.quota_reserved", "workload/a/y"), fact("round.committed", "round/1"), fact("workload.evicted", "workload/a/v"), fact("workload.placement_nominated", "workload/a/x")];
  expect(decisionsOf(events).map(({ place, stream, fact: { type } }) => [place, stream, type])).toEqual([
    [1, "workload/a/x", "workload.placement_nominated"],
    [2, "workload/a/y", "workload.quota_reserved"],
    [undefined, "workload/a/v", "workload.evicted"],
  ]);
});

it("knows the alert of absent workers", () => {
  const causes = [{ kind: "NeverStarts" }, { kind: "SchedulingStalled", title: "No worker makes scheduling decisions" }] as Causes["causes"];
  expect(stalledCause({ causes })?.title).toBe("No worker makes scheduling decisions");
  expect(stalledCause({ causes: [] })).toBeUndefined();
});
