import { expect, test } from "vitest";

import type { TopologyMap } from "@/lib/api/types";

import { changedMap, isHost, nameOf, readMap, stateOf } from "./columns";

const GPU = "nvidia.com/gpu";
const WHOLE: TopologyMap = {
  position: 7,
  at: "2026-11-28T05:00:00Z",
  topology: "campus",
  levels: ["rack", "kubernetes.io/hostname"],
  resources: [GPU, "memory"],
  units: { [GPU]: 2, memory: 1024 },
  flavorSets: [["a100"]],
  clusterQueues: ["", "vision"],
  rows: null,
  names: ["r1", "h1", "h2", "r2", "h3"],
  parents: [-1, 0, 0, -1, 3],
  ready: [2, 1, 1, 0, 0],
  cordoned: [1, 0, 1, 0, 0],
  faulty: [1, 1, 0, 0, 0],
  flavors: [-1, 0, 0, -1, 0],
  queues: [-1, 1, 0, -1, -1],
  priorities: [null, 100, null, null, null],
  allocatable: { [GPU]: [8, 4, 4, 4, 4], memory: [4, 2, 2, 2, 2] },
  used: { [GPU]: [3, 2, 1, 0, 0] },
  others: {},
  free: { [GPU]: [2, 2, 0, 0, 0] },
};

test("columns are read as a tree of domains with the state of each row", () => {
  const map = readMap(WHOLE, 1);
  expect(map.domains.map((domain) => [nameOf(domain), domain.hosts, domain.children.map(nameOf)])).toEqual([
    ["r1", 2, ["h1", "h2"]],
    ["r2", 1, ["h3"]],
  ]);
  const [first, second] = map.domains[0]?.children ?? [];
  expect(first).toMatchObject({ path: ["r1", "h1"], row: 1 });
  expect([map.domains[0], first].map((domain) => domain && isHost(domain))).toEqual([false, true]);
  expect(first && stateOf(map.states, first)).toEqual({
    ready: 1,
    cordoned: 0,
    faulty: 1,
    flavors: ["a100"],
    queue: "vision",
    priority: 100,
    allocatable: { [GPU]: 8, memory: 2048 },
    used: { [GPU]: 4 },
    others: {},
    free: { [GPU]: 4 },
  });
  expect(second && stateOf(map.states, second)).toMatchObject({ queue: "", priority: null });
  expect(map.states[4]?.queue).toBeNull();
});

test("changes replace the states of their rows alone, with units and queues of their own", () => {
  const before = readMap(WHOLE, 1);
  const none = { names: [], parents: [], flavors: [-1, 0], queues: [-1, 0], priorities: [null, 5], others: {} };
  const changes = { ...WHOLE, ...none, position: 9, rows: [0, 2], ready: [2, 1], cordoned: [0, 0], faulty: [1, 0], clusterQueues: ["robotics"], units: { [GPU]: 1, memory: 2048 }, allocatable: { [GPU]: [16, 8], memory: [2, 1] }, used: { [GPU]: [5, 1] }, free: { [GPU]: [11, 7] } };
  const after = changedMap(before, changes);
  expect(after.position).toBe(9);
  expect(after.domains).toBe(before.domains);
  expect(after.states.map((state, row) => state === before.states[row])).toEqual([false, true, false, true, true]);
  expect(after.states[2]).toMatchObject({ queue: "robotics", cordoned: 0, free: { [GPU]: 7 }, allocatable: { [GPU]: 8, memory: 2048 } });
  expect(changedMap(after, { ...changes, position: 10, rows: [], ready: [] }).states).toBe(after.states);
  expect(changedMap(before, WHOLE)).toEqual(before);
});
