import { describe, expect, it } from "vitest";

import { batchTitle, causeWords, commandFor, limitWords, previewWords, sinceAt, standingWords, takenBack } from "./stuck-workloads";

const INPUT = { reason: "quota is back", expirySeconds: 0 };

describe("cases", () => {
  it("says every known cause in words, and an unknown one as it is called", () => {
    expect(causeWords("RequeuingLimitExceeded")).toBe("Requeue limit exceeded");
    expect(causeWords("SomethingNew")).toBe("SomethingNew");
  });

  it("tells how much of a limit is used", () => {
    expect(limitWords({ field: "backoffLimitCount", maximum: 3, used: 3, decided: true })).toBe("3 of 3 requeues");
    expect(limitWords({ field: "maxBackOffRetryTimeout", maximum: 7200, used: 0, decided: false })).toBe("retries for at most 2 h");
  });

  it("heads a preview with the number of eligible workloads", () => {
    const result = { batch: "", verb: "activate", position: 1200, eligible: 2, ineligible: 1, items: [] };
    expect(previewWords(result)).toBe("Applies to 2 of 3 selected workloads");
  });

  it("writes the same as one command", () => {
    expect(commandFor("activate", ["team-a/x", "team-a/y"], INPUT)).toBe("headgate activate team-a/x team-a/y --reason 'quota is back'");
    expect(commandFor("hold", ["team-a/x"], { ...INPUT, expirySeconds: 60 })).toContain("--for 60s");
  });
});

describe("a batch that was carried out", () => {
  const item = (workload: string, canUndo: boolean) => ({ workload, did: "Activated", phase: "Starting", canUndo, reason: canUndo ? "" : "It has moved on since." });
  const batch = { batch: "b1", verb: "activate", undo: "deactivate", actor: "user:ada", reason: "quota is back", at: "2026-09-24T12:00:00Z", position: 7, items: [item("team-a/x", true), item("team-a/y", false)] };

  it("is headed by what was done to how many", () => {
    expect(batchTitle(batch)).toBe("Activate 2 workloads");
    expect(batchTitle({ ...batch, verb: "cancel", items: [item("team-a/x", false)] })).toBe("Cancel team-a/x");
  });

  it("says of how many it still stands", () => {
    expect(standingWords(batch)).toBe("Can be undone for 1 of 2 workloads");
    expect(standingWords({ ...batch, items: [item("team-a/y", false)] })).toBe("Can't be undone");
    expect(standingWords({ ...batch, items: [item("team-a/x", true)] })).toBe("Can be undone for all workloads");
  });

  it("names the workloads left alone beside those it was undone for", () => {
    const done = { workload: "team-a/x", uid: "1", phase: "Inactive", outcome: "done" as const, reason: "", next: "" };
    const undone = { batch: "b2", verb: "deactivate", position: 9, eligible: 1, ineligible: 0, items: [done] };
    expect(takenBack(undone, batch).map(({ workload, outcome, reason }) => [workload, outcome, reason])).toEqual([
      ["team-a/y", "ineligible", "It has moved on since."],
      ["team-a/x", "done", ""],
    ]);
  });
});

it("a stretch of hours is a moment so long ago, and none for any time", () => {
  expect(sinceAt("72", Date.parse("2026-09-24T12:00:00Z"))).toBe("2026-09-21T12:00:00.000Z");
  expect(sinceAt("", 0)).toBeUndefined();
  expect(sinceAt("nonsense", 0)).toBeUndefined();
});
