import { describe, expect, it } from "vitest";

import { causeWords, commandFor, limitWords, previewWords, sinceAt } from "./cases";

const INPUT = { reason: "quota is back", expirySeconds: 0 };

describe("cases", () => {
  it("says every known cause in words, and an unknown one as it is called", () => {
    expect(causeWords("RequeuingLimitExceeded")).toBe("Too many requeues");
    expect(causeWords("SomethingNew")).toBe("SomethingNew");
  });

  it("tells how much of a limit is used", () => {
    expect(limitWords({ field: "backoffLimitCount", most: 3, used: 3, decided: true })).toBe("3 of 3 requeues");
    expect(limitWords({ field: "maxBackOffRetryTimeout", most: 7200, used: 0, decided: false })).toBe("tries for 2 h at most");
  });

  it("heads a preview with who is eligible, by how many", () => {
    const result = { batch: "", verb: "activate", position: 1200, eligible: 2, ineligible: 1, items: [] };
    expect(previewWords(result)).toBe("2 of 3 will be changed, as they stood at position 1,200");
  });

  it("writes the same as one command", () => {
    expect(commandFor("activate", ["team-a/x", "team-a/y"], INPUT)).toBe("headgate activate team-a/x team-a/y --reason 'quota is back'");
    expect(commandFor("hold", ["team-a/x"], { ...INPUT, expirySeconds: 60 })).toContain("--for 60s");
  });
});

it("a stretch of hours is a moment so long ago, and none for any time", () => {
  expect(sinceAt("72", Date.parse("2026-09-24T12:00:00Z"))).toBe("2026-09-21T12:00:00.000Z");
  expect(sinceAt("", 0)).toBeUndefined();
  expect(sinceAt("nonsense", 0)).toBeUndefined();
});
