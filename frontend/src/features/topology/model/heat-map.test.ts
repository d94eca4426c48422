import { expect, test } from "vitest";

import { type Domain, readMap } from "./columns";
import { areCards, cellAfter, cellAt, changedCells, heatMapOf, isSought, matchesOf } from "./heat-map";

function domain(path: string[], children: Domain[] = []): Domain {
  const hosts = children.length === 0 ? 1 : children.reduce((sum, child) => sum + child.hosts, 0);
  return { row: 0, path, hosts, children };
}

/** Blocks of racks of hosts, numbered from 1. */
function cluster(blocks: number, racks: number, hosts: number): Domain[] {
  const numbers = (count: number) => Array.from({ length: count }, (_, index) => index + 1);
  return numbers(blocks).map((b) =>
    domain(
      [`block-${b}`],
      numbers(racks).map((r) => domain([`block-${b}`, `rack-${b}-${r}`], numbers(hosts).map((h) => domain([`block-${b}`, `rack-${b}-${r}`, `gpu-${b}-${r}-${h}`])))),
    ),
  );
}

test.each([
  [1440, 900],
  [1024, 768],
  [390, 844],
])("10,000 hosts take at most two heights of a window of %i by %i", (width, height) => {
  const map = heatMapOf(cluster(20, 25, 20), width - 48, height);
  expect(map.cells).toHaveLength(10_000);
  expect(map.height).toBeLessThanOrEqual(2 * height);
  expect(Math.max(...map.cells.map(({ x }) => x + map.size))).toBeLessThanOrEqual(width - 48);
  expect(new Set(map.cells.map(({ x, y }) => `${x},${y}`)).size).toBe(10_000);
});

test("the hosts of one rack are cards with room for their workloads, however many there are", () => {
  const hosts = cluster(1, 1, 64)[0]?.children[0]?.children ?? [];
  expect(areCards(hosts)).toBe(true);
  expect(areCards(cluster(2, 1, 2))).toBe(false);
  const map = heatMapOf(hosts, 1200, 900);
  expect(map.size).toBe(44);
  expect(map.labels.every(({ width }) => width >= 200)).toBe(true);
  expect(new Set(map.cells.map(({ x, y }) => `${x},${y}`)).size).toBe(64);
});

test("few hosts have large cells, in natural order", () => {
  const map = heatMapOf(cluster(12, 2, 12), 1200, 900);
  expect(map.size).toBe(18);
  expect(map.labels.map(({ words }) => words).slice(0, 4)).toEqual(["block-1", "rack-1-1", "rack-1-2", "block-2"]);
  expect(map.cells.slice(8, 11).map(({ domain: { path } }) => path.at(-1))).toEqual(["gpu-1-1-9", "gpu-1-1-10", "gpu-1-1-11"]);
});

test("a handful of hosts have the largest cells, and in a rack each has its name", () => {
  const few = cluster(2, 2, 4);
  const map = heatMapOf(few, 1200, 900);
  expect(map.size).toBe(44);
  const racks = map.labels.filter(({ words }) => words.startsWith("rack"));
  expect(racks.map(({ words }) => words)).toEqual(["rack-1-1", "rack-1-2", "rack-2-1", "rack-2-2"]);
  expect(map.cells.every(({ x }) => x >= 64)).toBe(true);
  const rack = heatMapOf(few[0]?.children[0]?.children ?? [], 1200, 900);
  expect(rack.labels.map(({ host }) => host)).toEqual(["gpu-1-1-1", "gpu-1-1-2", "gpu-1-1-3", "gpu-1-1-4"]);
});

test("each cell is found at its place, and none in a gap between racks", () => {
  const map = heatMapOf(cluster(2, 3, 4), 600, 900);
  map.cells.forEach(({ x, y }, index) => expect(cellAt(map, x + 2, y + 2)).toBe(index));
  const last = map.cells[3];
  expect(cellAt(map, (last?.x ?? 0) + map.size + 3, (last?.y ?? 0) + 2)).toBe(-1);
});

test("keys move by host, by rack and by block", () => {
  const map = heatMapOf(cluster(2, 3, 4), 600, 900);
  expect(cellAfter(map, -1, "ArrowRight")).toBe(0);
  expect(cellAfter(map, 0, "ArrowRight")).toBe(1);
  expect(cellAfter(map, 1, "PageDown")).toBe(4);
  expect(cellAfter(map, 5, "PageUp")).toBe(0);
  expect(cellAfter(map, 5, "End")).toBe(12);
  expect(cellAfter(map, 13, "Home")).toBe(0);
  expect(cellAfter(map, 23, "PageDown")).toBe(23);
});

test("a host is found by a part of its name, a rack by its name", () => {
  const { cells } = heatMapOf(cluster(12, 2, 12), 1200, 900);
  const hosts = cells.map(({ domain: one }) => one);
  expect(matchesOf(hosts, "gpu-3-1-1")[0]?.path.at(-1)).toBe("gpu-3-1-1");
  expect(matchesOf(hosts, "  ")).toEqual([]);
  expect(cells.filter((cell) => isSought(cell.domain, "rack-2-1"))).toHaveLength(12);
});

test("cells are drawn again where the states of their hosts changed", () => {
  const names = ["b1", "h1", "h2", "h3"];
  const empty = { flavorSets: [], clusterQueues: [], flavors: [], queues: [], priorities: [], allocatable: {}, used: {}, others: {}, free: {} };
  const map = readMap({ ...empty, position: 1, at: "", topology: "", levels: [], resources: [], units: {}, rows: null, names, parents: [-1, 0, 0, 0], ready: [3, 1, 1, 1], cordoned: [0, 0, 0, 0], faulty: [0, 0, 0, 0] }, 1);
  const heat = heatMapOf(map.domains, 600, 900);
  const after = map.states.map((state, row) => (row === 2 ? { ...state, cordoned: 1 } : state));
  expect(changedCells(heat, map.states, after).map(({ domain: { path } }) => path.at(-1))).toEqual(["h2"]);
  expect(changedCells(heat, map.states, map.states)).toEqual([]);
});
