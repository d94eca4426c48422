import { describe, expect, it } from "vitest";

import { changeWords, differenceWords, instantsOf, isUnfinished, replayedRange, shiftWords, simulationAddress, subjectWords, waitWords } from "./backtests";

describe("a backtest in words", () => {
  it("says what was configured otherwise", () => {
    expect(changeWords({ changes: ["clusterqueue/gpu"] })).toBe("clusterqueue/gpu");
    expect(changeWords({})).toBe("Current configuration and rules");
  });

  it("says how a workload is affected, and by how much", () => {
    expect(differenceWords({ what: ["StartsEarlier", "PreemptedLess"] })).toBe("starts earlier, is preempted less often");
    expect(shiftWords({ actual: { startedAt: "2026-09-24T12:00:10Z" }, backtest: { startedAt: "2026-09-24T12:00:05Z" } })).toBe("5.0 s earlier");
    expect(shiftWords({ actual: {}, backtest: { startedAt: "2026-09-24T12:00:05Z" } })).toBe("");
    expect(waitWords(90_000)).toBe("1 m 30 s");
  });

  it("replays the range of the page, one that ends now, or the whole log", () => {
    const now = Date.parse("2026-11-27T12:00:00Z");
    const page = { last: "", from: "2026-11-26T00:00:00Z", to: "2026-11-27T00:00:00Z" };
    expect(replayedRange("page", page, now)).toEqual({ from: "2026-11-26T00:00:00.000Z", to: "2026-11-27T00:00:00.000Z" });
    expect(replayedRange("1h", page, now)).toEqual({ from: "2026-11-27T11:00:00.000Z", to: "" });
    expect(replayedRange("all", page, now)).toEqual({ from: "1", to: "" });
  });

  it("knows which are still worked on", () => {
    expect(isUnfinished({ state: "Running" })).toBe(true);
    expect(isUnfinished({ state: "Cancelled" })).toBe(false);
  });

  it("spreads values evenly over the time range", () => {
    const range = { beginAt: "1970-01-01T00:00:10Z", endAt: "1970-01-01T00:00:30Z" };
    expect(instantsOf(range, 3)).toEqual([10, 20, 30]);
    expect(instantsOf(range, 1)).toEqual([10]);
  });
});

it("a simulation is named by its title, else by what it changes", () => {
  expect(subjectWords({ kind: "Workload", title: "one more", changes: ["workload/team-a/train"] })).toBe("one more");
  expect(subjectWords({ kind: "Workload", changes: ["workload/team-a/train"] })).toBe("team-a/train");
  expect(subjectWords({ kind: "Change", changes: ["clusterqueue/a", "cohort/b", "node/c"] })).toBe("clusterqueue/a, cohort/b and 1 more");
  expect(subjectWords({ kind: "Workload", changes: ["workload/team-a/train"], delete: "workload/team-a/train" })).toBe("Delete team-a/train");
  expect(subjectWords({ kind: "Change", changes: ["cohort/b", "node/h1"], cordon: "h1" })).toBe("cohort/b, Cordon h1");
  expect(subjectWords({ kind: "Workload", changes: ["workload/a/x"], priority: "a/x:100" })).toBe("Priority of a/x: 100");
  expect(subjectWords({ kind: "Backtest" })).toBe("Current configuration and rules");
  expect(simulationAddress({ id: "b1" })).toBe("/simulations/b1");
});
