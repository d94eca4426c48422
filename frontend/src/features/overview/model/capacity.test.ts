import { expect, test } from "vitest";

import type { CapacityPoint } from "@/lib/api/types";

import { capacityAt, groupsByUse, nowOf, ofQueue, overuseOf, seriesOf, useOf, usedOverTime } from "./capacity";

function point(used: Record<string, number>, rest: Partial<CapacityPoint> = {}): CapacityPoint {
  const queues = Object.entries(used).map(([clusterQueue, amount]) => ({ clusterQueue, nominal: 8, used: amount, pending: 2 * amount, pendingWorkloads: 1 }));
  return { position: 1, at: "2026-11-27T12:00:00Z", nominal: 128, offered: 128, queues, groups: [], ...rest };
}

test("the queue that used most comes first", () => {
  expect(groupsByUse([point({ a: 1, b: 5 }), point({ a: 2, b: 0, c: 3 })].map((one) => useOf(one, "clusterQueue")))).toEqual(["b", "a", "c"]);
});

test("six queues have a color of their own, the others are one hatched area", () => {
  const points = [point({ a: 8, b: 7, c: 6, d: 5, e: 4, f: 3, g: 2, h: 1 })];
  const series = seriesOf(points, "clusterQueue");
  expect(series.map(({ name }) => name)).toEqual(["other", "a", "b", "c", "d", "e", "f"]);
  expect(series[0]).toMatchObject({ values: [3], hatched: true });
  expect(new Set(series.map(({ color }) => color)).size).toBe(7);
});

test("a queue keeps its color when another one uses more", () => {
  const colorOf = (points: CapacityPoint[]) => seriesOf(points, "clusterQueue").find(({ name }) => name === "b")?.color;
  expect(colorOf([point({ a: 1, b: 5 })])).toBe(colorOf([point({ a: 5, b: 1 })]));
});

test("use by flavor is that of its groups", () => {
  const groups = [{ name: "a100", used: 3 }, { name: "h100", used: 8 }];
  expect(seriesOf([point({ a: 11 }, { groups })], "flavor").map(({ name, values }) => [name, values])).toEqual([["h100", [8]], ["a100", [3]]]);
});

test("of one queue its own quota is the capacity", () => {
  const history = { points: [point({ a: 3, b: 4 })] } as Parameters<typeof ofQueue>[0];
  expect(nowOf(ofQueue(history, "b"))).toEqual({ used: 4, capacity: 8, pending: 8, pendingWorkloads: 1 });
  expect(nowOf(ofQueue(history, "gone"))).toEqual({ used: 0, capacity: 0, pending: 0, pendingWorkloads: 0 });
});

test("capacity is what quota and ready hosts both allow", () => {
  expect(capacityAt(point({}, { offered: 120 }))).toBe(120);
  expect(capacityAt(point({}, { offered: 0 }))).toBe(128);
});

test("use above capacity names what no longer covers it", () => {
  const historyOf = (rest: Partial<CapacityPoint>) => ({ points: [point({ a: 120 }, rest)] }) as Parameters<typeof overuseOf>[0];
  expect(overuseOf(historyOf({ offered: 104 }))).toEqual({ amount: 16, bound: "hosts" });
  expect(overuseOf(historyOf({ nominal: 100 }))).toEqual({ amount: 20, bound: "quota" });
  expect(overuseOf(historyOf({}))).toBeUndefined();
});

test("the figures are those of the newest point", () => {
  const history = { points: [point({ a: 1 }), point({ a: 3, b: 4 })] } as Parameters<typeof nowOf>[0];
  expect(usedOverTime(history.points)).toEqual([1, 7]);
  expect(nowOf(history)).toEqual({ used: 7, capacity: 128, pending: 14, pendingWorkloads: 2 });
});
