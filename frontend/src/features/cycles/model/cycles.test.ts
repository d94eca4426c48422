import { describe, expect, it } from "vitest";

import type { Cycle } from "@/lib/api/types";

import { durationsOf, durationWords, figuresOf, outcomeWords } from "./cycles";

const cycle = { at: "2026-11-27T10:00:00Z", outcome: "Committed", decisions: 2, heads: 3, planningMicroseconds: 500, commitMicroseconds: 700 } as Cycle;
const refused = { ...cycle, at: "2026-11-27T10:00:30Z", outcome: "Conflict", conflict: "guard", planningMicroseconds: 900 } as Cycle;

describe("cycles in words", () => {
  it("say how long and what came of it", () => {
    expect(durationWords(700)).toBe("700 µs");
    expect(durationWords(1_250)).toBe("1.3 ms");
    expect(durationWords(3_400_000)).toBe("3.4 s");
    expect(outcomeWords(cycle)).toBe("2 decisions");
    expect(outcomeWords(refused)).toBe("Planned again: guard");
  });

  it("are summed up", () => {
    expect(figuresOf([refused, cycle])).toEqual({ count: 2, perMinute: 2, median: 1_200, p95: 1_600, slowest: 1_600, conflicts: 1, heads: 6, decisions: 2 });
    expect(figuresOf([cycle]).perMinute).toBeUndefined();
  });

  it("are drawn from the oldest to the newest, one for each instant", () => {
    expect(durationsOf([refused, refused, cycle])).toEqual({
      times: [Date.parse(cycle.at) / 1000, Date.parse(refused.at) / 1000],
      planning: [500, 900],
      commit: [700, 700],
      conflicts: [refused, refused],
    });
  });
});
