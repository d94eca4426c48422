import { describe, expect, it } from "vitest";

import { changeWords, differenceWords, isUnfinished, linePath, shiftWords, waitWords } from "./backtests";

describe("a backtest in words", () => {
  it("says what was configured otherwise", () => {
    expect(changeWords({ changes: ["clusterqueue/gpu"] })).toBe("clusterqueue/gpu");
    expect(changeWords({})).toBe("no overrides (current scheduler rules)");
  });

  it("says in which ways a workload fares differently, and by how much", () => {
    expect(differenceWords({ what: ["StartsEarlier", "PreemptedLess"] })).toBe("starts earlier, is preempted less often");
    expect(shiftWords({ actual: { startedAt: "2026-09-24T12:00:10Z" }, backtest: { startedAt: "2026-09-24T12:00:05Z" } })).toBe("5.0 s earlier");
    expect(shiftWords({ actual: {}, backtest: { startedAt: "2026-09-24T12:00:05Z" } })).toBe("");
    expect(waitWords(90_000)).toBe("1 m 30 s");
  });

  it("knows which are still worked on", () => {
    expect(isUnfinished({ state: "Running" })).toBe(true);
    expect(isUnfinished({ state: "Cancelled" })).toBe(false);
  });

  it("draws both sides against one peak", () => {
    expect(linePath([0, 5, 10], 10)).toBe("M0.00 100.00 L50.00 50.00 L100.00 0.00");
    expect(linePath([0], 0)).toBe("M0.00 100.00");
  });
});
