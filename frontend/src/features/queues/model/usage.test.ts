import { expect, test } from "vitest";

import type { UsagePoint } from "@/lib/api/types";

import { courseOf, happenedOverTime, resourcesIn } from "./usage";

const LINE = { flavor: "plain", nominal: 8000, borrowed: 0, lent: 0, available: 0 };

function point(at: string, used: Record<string, number>): UsagePoint {
  const lines = Object.entries(used).map(([resource, amount]) => ({ ...LINE, resource, used: amount }));
  return { position: 1, at, lines, weightedShare: 0, pending: 0, submitted: 0, admitted: 0, evicted: 0, finished: 0 };
}

test("one resource of all flavors is told over time, with what is borrowed apart", () => {
  const early = point("2026-11-27T10:00:00Z", { cpu: 1500 });
  const late = { ...point("2026-11-27T11:00:00Z", { cpu: 9000, memory: 3 }), pending: 4 };
  late.lines.push({ ...LINE, flavor: "other", resource: "cpu", used: 2000, borrowed: 1000 });
  const course = courseOf([early, late], "cpu");
  expect([course.own, course.borrowed, course.nominal, course.pending]).toEqual([[1500, 10_000], [0, 1000], [8000, 16_000], [0, 4]]);
  expect((course.times[1] ?? 0) - (course.times[0] ?? 0)).toBe(3600);
  expect(resourcesIn([early, late])).toEqual(["cpu", "memory"]);
  expect(courseOf([point("2026-11-27T10:00:00Z", {})], "cpu").own, "a queue that was not there yet used nothing then").toEqual([0]);
});

test("a limit of borrowing is a line where every flavor has one", () => {
  const limited = point("2026-11-27T10:00:00Z", { cpu: 1500 });
  expect(courseOf([limited], "cpu").limit).toBeUndefined();
  limited.lines = limited.lines.map((line) => ({ ...line, borrowingLimit: 2000 }));
  expect(courseOf([limited], "cpu").limit).toEqual([10_000]);
});

test("what happened to workloads has a row where it happened at all", () => {
  const rows = happenedOverTime([point("a", {}), { ...point("b", {}), submitted: 3, evicted: 1 }]);
  expect(rows.map(({ label, counts }) => [label, counts])).toEqual([
    ["Workloads submitted", [0, 3]],
    ["Workloads evicted", [0, 1]],
  ]);
});
