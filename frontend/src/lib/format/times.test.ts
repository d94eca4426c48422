import { describe, expect, test } from "vitest";

import { formatAbsolute, formatClock, formatDuration, formatRelative, formatSpan, secondsBetween, withLocalTimes } from "./times";

const NOON = Date.parse("2026-05-04T12:00:00Z");

describe("times", () => {
  test("a sentence has its instants in local time, and is left alone where it has none", () => {
    const at = "2026-05-04T12:00:00.123456Z";
    expect(withLocalTimes(`Until ${at}, if it stops`)).toBe(`Until 4 May, ${formatClock(at)}, if it stops`);
    expect(withLocalTimes("Half of the checkpoint is saved")).toBe("Half of the checkpoint is saved");
  });

  test("a length of time shows its two largest units", () => {
    expect(formatDuration(0.4)).toBe("0 s");
    expect(formatDuration(59.6)).toBe("1 m");
    expect(formatDuration(2 * 3600 + 10 * 60 + 5)).toBe("2 h 10 m");
    expect(formatDuration(3 * 86_400 + 4 * 3600)).toBe("3 d 4 h");
  });

  test("an instant is told from now, in both directions", () => {
    expect(formatRelative("2026-05-04T11:57:10Z", NOON)).toBe("2 m ago");
    expect(formatRelative("2026-05-04T14:05:00Z", NOON)).toBe("in 2 h 5 m");
    expect(formatRelative("2026-05-04T11:59:59Z", NOON)).toBe("just now");
    expect(formatRelative("soon", NOON)).toBe("at an unknown time");
  });

  test("an instant in full has UTC beside the local time only where that is another one", () => {
    const isUtc = new Date(NOON).getTimezoneOffset() === 0;
    expect(formatAbsolute("2026-05-04T12:00:00Z").match(/2026/g)).toHaveLength(isUtc ? 1 : 2);
    expect(formatAbsolute("soon")).toBe("soon");
  });

  test("a span is told in one unit", () => {
    expect([12, 890, 86_100, 172_700, 604_800].map(formatSpan)).toEqual(["12 s", "15 m", "24 h", "2 d", "7 d"]);
  });

  test("the time between two instants is in seconds", () => {
    expect(secondsBetween("2026-05-04T11:59:00Z", "2026-05-04T12:00:00Z")).toBe(60);
  });
});
