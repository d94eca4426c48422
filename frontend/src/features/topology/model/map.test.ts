import { expect, test } from "vitest";

import type { HostWorkload, TopologyDomain } from "@/lib/api/types";

import { domainAt, fillOf, firstResource, hostsOf, hostWorkloadWords, isOfWorkloads, largestFit, legendOf, piecesOf, resourceWords, shownBlock } from "./map";

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
    host: { name, ready: true, cordoned, flavors: ["a100"], taints: [], workloads },
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

test("groups keep their colours whichever is the largest", () => {
  const colours = [
    ["a", "--queue-1"],
    ["b", "--queue-2"],
  ];
  const turned = host("h1", 8, [
    { key: "a/x", pods: 1, clusterQueue: "a", priority: 0 },
    { key: "b/y", pods: 9, clusterQueue: "b", priority: 5 },
  ]);
  expect([...legendOf([FULL, HALF], "queue")]).toEqual(colours);
  expect([...legendOf([turned], "queue")]).toEqual(colours);
});

test("priorities are in order of their numbers", () => {
  const hosts = [host("h1", 8, [9, 100, 20].map((priority) => ({ key: `a/${priority}`, pods: 1, clusterQueue: "a", priority })))];
  expect([...legendOf(hosts, "priority").keys()]).toEqual(["priority 9", "priority 20", "priority 100"]);
});

test("workloads with hidden queue and priority are other teams, in every colouring", () => {
  const theirs = { key: "2 workloads of other teams", pods: 4, clusterQueue: "", priority: 0 };
  const mine = { key: "a/x", pods: 1, clusterQueue: "a", priority: 0 };
  expect([...legendOf([host("h1", 8, [theirs, mine])], "queue").keys()]).toEqual(["a", "other teams"]);
  expect([...legendOf([host("h1", 8, [theirs, mine])], "priority").keys()]).toEqual(["other teams", "priority 0"]);
  expect([theirs, mine].map(hostWorkloadWords)).toEqual(["4 pods", "1 pod, a, priority 0"]);
});

test("a host that takes no pods says so where its free part would be", () => {
  const open = { position: 1, at: "", node: "h2", ready: true, cordoned: false, allocatable: { [GPU]: 8 }, used: { [GPU]: 4 }, others: {}, free: { [GPU]: 4 }, taints: [], workloads: [] };
  expect(resourceWords(open, GPU)).toBe("4 of 8 in use, 4 free");
  expect(resourceWords({ ...open, used: {}, free: {}, cordoned: true }, GPU)).toBe("0 of 8 in use; nothing free while it is cordoned");
});

test("beyond the colours there are, the smallest groups share one", () => {
  const many = Array.from({ length: 10 }, (_, index) => ({ key: `n/${index}`, pods: index + 1, clusterQueue: `q${index}`, priority: 0 }));
  const legend = legendOf([host("h1", 8, many)], "queue");
  const own = ["q4", "q5", "q6", "q7", "q8", "q9"].map((name) => legend.get(name));
  expect(new Set(own).size).toBe(6);
  expect(["q0", "q1", "q2", "q3"].map((name) => legend.get(name))).toEqual(Array(4).fill("--queue-other"));
});

test("the used part is split by pods and never exceeds the fill", () => {
  const pieces = piecesOf(FULL, GPU, "queue", legendOf([FULL, HALF], "queue"));
  expect(pieces).toEqual([
    { share: 0.75, color: "--queue-1" },
    { share: 0.25, color: "--queue-2" },
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

test("a host is colored by its own state or use as a whole", () => {
  const down = { ...FULL, host: { ...FULL.host, ready: false } } as TopologyDomain;
  const colors = [FULL, EMPTY, down].map((domain) => piecesOf(domain, GPU, "health", legendOf([], "health")).map(({ color }) => color));
  expect(colors).toEqual([["--good-solid"], ["--hold-solid"], ["--bad-solid"]]);
  expect([FULL, HALF].map((domain) => piecesOf(domain, GPU, "use", legendOf([], "use")))).toEqual([[{ share: 1, color: "--use-6" }], [{ share: 1, color: "--use-3" }]]);
  expect(piecesOf(host("h4", 0, []), GPU, "use", legendOf([], "use"))).toEqual([]);
  expect([...legendOf([], "use").keys()]).toEqual(["0 to 17%", "17 to 33%", "33 to 50%", "50 to 67%", "67 to 83%", "83 to 100%"]);
  expect([isOfWorkloads("queue"), isOfWorkloads("use")]).toEqual([true, false]);
});

test("hosts have the color of their flavor, or of how much of them is free", () => {
  const other = { ...HALF, host: { ...FULL.host, name: "h4", flavors: ["h100"] } } as TopologyDomain;
  const legend = legendOf([FULL, other], "flavor");
  expect([...legend]).toEqual([
    ["a100", "--queue-1"],
    ["h100", "--queue-2"],
  ]);
  expect([FULL, other].map((domain) => piecesOf(domain, GPU, "flavor", legend))).toEqual([[{ share: 1, color: "--queue-1" }], [{ share: 1, color: "--queue-2" }]]);
  expect([FULL, HALF].map((domain) => piecesOf(domain, GPU, "free", legendOf([], "free")))).toEqual([[], [{ share: 1, color: "--use-3" }]]);
  expect(legendOf([], "free").get("33 to 50% free")).toBe("--use-3");
});

test("one domain of the highest level is shown at a time: the one that is zoomed into, else the first by name", () => {
  const named = (name: string): TopologyDomain => ({ ...BLOCK, path: [name] });
  const blocks = [named("b10"), named("b2")];
  expect(shownBlock(blocks, "")?.path).toEqual(["b2"]);
  expect(shownBlock(blocks, "b10/h1")?.path).toEqual(["b10"]);
  expect(shownBlock([BLOCK], "")).toBeUndefined();
  expect(shownBlock([FULL, HALF], "")).toBeUndefined();
});
