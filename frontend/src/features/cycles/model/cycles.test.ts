import { describe, expect, it } from "vitest";

import type { Cycle } from "@/lib/api/types";

import { durationWords, figuresOf, outcomeWords } from "./cycles";

const cycle = { outcome: "Committed", decisions: 2, heads: 3, planningMicroseconds: 500, commitMicroseconds: 700 } as Cycle;
const refused = { ...cycle, outcome: "Conflict", conflict: "guard" } as Cycle;

describe("cycles in words", () => {
  it("say how long and what came of it", () => {
    expect(durationWords(700)).toBe("700 µs");
    expect(durationWords(1_250)).toBe("1.3 ms");
    expect(durationWords(3_400_000)).toBe("3.4 s");
    expect(outcomeWords(cycle)).toBe("2 decisions");
    expect(outcomeWords(refused)).toBe("Planned again: guard");
  });

  it("are summed up", () => {
    expect(figuresOf([cycle, refused])).toEqual({ count: 2, conflicts: 1, heads: 6, decisions: 2, slowest: 1_200 });
  });
});
