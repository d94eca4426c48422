import { afterEach, expect, test, vi } from "vitest";

import { formatAbsolute, formatShortTime } from "./times";
import { inZone, zoneInstant, zoneName, zoneText } from "./zone";

const AT = "2026-11-27T23:30:00Z";

afterEach(() => vi.unstubAllGlobals());

function choose(zone: string) {
  vi.stubGlobal("localStorage", { getItem: () => zone });
}

test("with UTC chosen instants are shown in it, wherever the browser is", () => {
  choose("utc");
  expect(inZone(new Date(AT), { hour: "2-digit", minute: "2-digit" })).toBe("23:30");
  expect(zoneName()).toBe("UTC");
  expect(formatAbsolute(AT)).toContain("UTC");
  expect(formatShortTime(AT, new Date("2026-11-27T01:00:00Z")), "it is the same day there").toBe("23:30");
  expect(formatShortTime(AT, new Date("2026-11-28T01:00:00Z"))).toMatch(/^Fri,? 27 Nov, 23:30$/);
});

test.each(["utc", "local"])("a field of date and time names the instant it was filled with: %s", (zone) => {
  choose(zone);
  expect(zoneInstant(zoneText(Date.parse(AT)))).toBe(Date.parse(AT));
});
