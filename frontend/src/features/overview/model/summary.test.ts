import { expect, test } from "vitest";

import { bySeverity, summaryOf, tilesOf } from "./summary";

const STUCK = { kind: "stuck", severity: "warning" as const, title: "t", detail: "d", link: "/" };

test("the sentence says first whether anything needs attention", () => {
  expect(summaryOf({ attention: [], counts: { Running: 2, Pending: 1 } })).toBe("Nothing needs attention; 2 with a place, 1 waiting.");
  expect(summaryOf({ attention: [STUCK], counts: {} })).toBe("1 thing needs attention; 0 with a place, 0 waiting.");
});

test("the most severe comes first", () => {
  const ordered = bySeverity([{ severity: "info" }, { severity: "critical" }, STUCK]);
  expect(ordered.map((item) => item.severity)).toEqual(["critical", "warning", "info"]);
});

test("phases without workloads are left out, except for the four main ones", () => {
  expect(tilesOf({ OnHold: 1 }, ["Pending", "OnHold", "Evicting", "Running"]).map((tile) => tile.phase)).toEqual(["Pending", "OnHold", "Running"]);
});
