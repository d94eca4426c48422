import { expect, test } from "vitest";

import type { UsagePoint } from "@/lib/api/types";

import { happenedOverTime, usedOverTime } from "./usage";

const LINE = { flavor: "plain", nominal: 8000, borrowed: 0, lent: 0, available: 0 };

function point(at: string, used: Record<string, number>): UsagePoint {
  const lines = Object.entries(used).map(([resource, amount]) => ({ ...LINE, resource, used: amount }));
  return { position: 1, at, lines, weightedShare: 0, pending: 0, submitted: 0, admitted: 0, evicted: 0, finished: 0 };
}

test("each resource has its own row, in units that people use", () => {
  const rows = usedOverTime([point("a", { cpu: 1500, memory: 3 * 2 ** 30 }), point("b", { cpu: 4000, memory: 0 })]);
  expect(rows.map(({ label, unit, bars }) => [label, unit, bars.map(({ count }) => count)])).toEqual([
    ["CPU of plain", "CPU", [1.5, 4]],
    ["memory of plain", "GiB", [3, 0]],
  ]);
});

test("a queue that was not there yet used nothing then", () => {
  const [row] = usedOverTime([point("a", {}), point("b", { "nvidia.com/gpu": 2 })]);
  expect(row?.bars.map(({ count }) => count)).toEqual([0, 2]);
  expect(row?.unit).toBe("GPU");
});

test("what happened to workloads has a row where it happened at all", () => {
  const rows = happenedOverTime([point("a", {}), { ...point("b", {}), submitted: 3, evicted: 1 }]);
  expect(rows.map(({ label, bars }) => [label, bars.map(({ count }) => count)])).toEqual([
    ["Workloads submitted", [0, 3]],
    ["Workloads evicted", [0, 1]],
  ]);
});
