import { expect, test } from "vitest";

import type { HostWorkload, TopologyDomain } from "@/lib/api/types";

import { domainAt, fillOf, firstResource, hostsOf, largestFit, legendOf, piecesOf } from "./map";

const GPU = "nvidia.com/gpu";

function host(name: string, used: number, workloads: HostWorkload[], cordoned = false): TopologyDomain {
  return {
    path: ["b1", name],
    hosts: 1,
    ready: 1,
    allocatable: { [GPU]: 8 },
    used: { [GPU]: used },
    others: {},
    free: { [GPU]: 8 - used },
    children: [],
    host: { name, ready: true, cordoned, taints: [], workloads },
  };
}

const FULL = host("h1", 8, [
  { key: "a/x", pods: 3, clusterQueue: "a", priority: 0 },
  { key: "b/y", pods: 1, clusterQueue: "b", priority: 5 },
]);
const HALF = host("h2", 4, [{ key: "a/x", pods: 1, clusterQueue: "a", priority: 0 }]);
const EMPTY = host("h3", 0, [], true);
const BLOCK: TopologyDomain = { ...host("b1", 12, []), path: ["b1"], host: null, children: [FULL, HALF, EMPTY] };

test("hosts are found below any domain, and domains by their path", () => {
  expect(hostsOf([BLOCK])).toHaveLength(3);
  expect(domainAt([BLOCK], ["b1", "h2"])).toBe(HALF);
  expect(domainAt([BLOCK], ["b9"])).toBeUndefined();
});

test("the largest group has the first colour", () => {
  expect([...legendOf([FULL, HALF], "queue")]).toEqual([
    ["a", 1],
    ["b", 2],
  ]);
});

test("the used part is split by pods and never exceeds the fill", () => {
  const pieces = piecesOf(FULL, GPU, "queue", legendOf([FULL, HALF], "queue"));
  expect(pieces).toEqual([
    { share: 0.75, series: 1 },
    { share: 0.25, series: 2 },
  ]);
  expect(fillOf(HALF, GPU)).toBe(0.5);
});

test("a cordoned host offers nothing, however empty it is", () => {
  expect(largestFit([FULL, HALF, EMPTY], GPU)).toEqual({ host: "h2", free: 4 });
});

test("an accelerator is what people look at first", () => {
  expect(firstResource(["cpu", "memory", GPU])).toBe(GPU);
  expect(firstResource(["memory", "cpu"])).toBe("cpu");
});
