import { expect, test } from "vitest";

import { summaryOf, tilesOf } from "./summary";

const STUCK = { kind: "stuck", severity: "warning" as const, title: "t", detail: "d", link: "/" };

test("the line says first whether there are alerts", () => {
  expect(summaryOf({ attention: [], counts: { Running: 2, Pending: 1 } })).toBe("No alerts · 2 admitted · 1 pending");
  expect(summaryOf({ attention: [STUCK], counts: {} })).toBe("1 alert · 0 admitted · 0 pending");
});

test("phases without workloads are left out, except for the four main ones", () => {
  expect(tilesOf({ OnHold: 1 }, ["Pending", "OnHold", "Evicting", "Running"]).map((tile) => tile.phase)).toEqual(["Pending", "OnHold", "Running"]);
});
