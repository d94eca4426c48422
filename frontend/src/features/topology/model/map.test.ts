import { expect, test } from "vitest";

import { type Domain, type RowState } from "./columns";
import { closedWords, domainAt, fillOf, firstResource, groupOf, hostsOf, hostWorkloadWords, isOfWorkloads, largestFit, legendOf, pieceOf, resourceWords, shownBlock } from "./map";

const GPU = "nvidia.com/gpu";

function state(used: number, queue: string | null, changes: Partial<RowState> = {}): RowState {
  return { ready: 1, cordoned: 0, faulty: 0, flavors: ["a100"], queue, priority: queue ? 0 : null, allocatable: { [GPU]: 8 }, used: { [GPU]: used }, others: {}, free: { [GPU]: 8 - used }, ...changes };
}

const FULL = state(8, "a");
const HALF = state(4, "b");
const EMPTY = state(0, null, { cordoned: 1, free: {} });
const HOSTS: Domain[] = ["h1", "h2", "h3"].map((name, index) => ({ row: index + 1, path: ["b1", name], hosts: 1, children: [] }));
const BLOCK: Domain = { row: 0, path: ["b1"], hosts: 3, children: HOSTS };
const STATES = [state(12, null), FULL, HALF, EMPTY];

test("hosts are found below any domain, and domains by their path", () => {
  expect(hostsOf([BLOCK])).toHaveLength(3);
  expect(domainAt([BLOCK], ["b1", "h2"])).toBe(HOSTS[1]);
  expect(domainAt([BLOCK], ["b9"])).toBeUndefined();
});

test("groups keep their colours whichever is the largest", () => {
  const colours = [
    ["a", "--queue-1"],
    ["b", "--queue-2"],
  ];
  expect([...legendOf([FULL, HALF], "queue")]).toEqual(colours);
  expect([...legendOf([FULL, HALF, HALF, EMPTY], "queue")]).toEqual(colours);
});

test("priorities are in order of their numbers", () => {
  const hosts = [9, 100, 20].map((priority) => state(1, "a", { priority }));
  expect([...legendOf(hosts, "priority").keys()]).toEqual(["priority 9", "priority 20", "priority 100"]);
});

test("hosts with hidden queue and priority are of other teams, in every colouring", () => {
  const theirs = state(4, "", { priority: null });
  expect([...legendOf([theirs, FULL], "queue").keys()]).toEqual(["a", "other teams"]);
  expect([...legendOf([theirs, FULL], "priority").keys()]).toEqual(["other teams", "priority 0"]);
  expect(groupOf(EMPTY, "queue")).toBe("");
  const workloads = [
    { key: "2 workloads of other teams", pods: 4, clusterQueue: "", priority: 0 },
    { key: "a/x", pods: 1, clusterQueue: "a", priority: 0 },
  ];
  expect(workloads.map(hostWorkloadWords)).toEqual(["4 pods", "1 pod, a, priority 0"]);
});

test("a host that takes no pods says so where its free part would be", () => {
  const open = { position: 1, at: "", node: "h2", models: [], deviceErrors: null, ready: true, cordoned: false, allocatable: { [GPU]: 8 }, used: { [GPU]: 4 }, others: {}, free: { [GPU]: 4 }, taints: [], workloads: [] };
  expect(resourceWords(open, GPU)).toBe("4 of 8 in use, 4 free");
  expect(resourceWords({ ...open, used: {}, free: {}, cordoned: true }, GPU)).toBe("0 of 8 in use; nothing free while it is cordoned");
});

test("beyond the colours there are, the smallest groups share one", () => {
  const many = Array.from({ length: 10 }, (_, index) => Array.from({ length: index + 1 }, () => state(1, `q${index}`))).flat();
  const legend = legendOf(many, "queue");
  const own = ["q4", "q5", "q6", "q7", "q8", "q9"].map((name) => legend.get(name));
  expect(new Set(own).size).toBe(6);
  expect(["q0", "q1", "q2", "q3"].map((name) => legend.get(name))).toEqual(Array(4).fill("--queue-other"));
});

test("a host is filled as far as it is used, in the color of its ClusterQueue", () => {
  const legend = legendOf([FULL, HALF], "queue");
  expect([FULL, HALF, EMPTY].map((host) => pieceOf(host, GPU, "queue", legend))).toEqual([{ share: 1, color: "--queue-1" }, { share: 0.5, color: "--queue-2" }, null]);
  expect(fillOf({ ...HALF, others: { [GPU]: 2 } }, GPU)).toBe(0.75);
});

test("a cordoned host offers nothing, however empty it is, and is counted", () => {
  expect(largestFit(HOSTS, STATES, GPU)).toEqual({ host: "h2", free: 4 });
  expect(closedWords([FULL, EMPTY, { ...EMPTY, ready: 0 }])).toBe("1 not ready, 1 cordoned");
});

test("an accelerator is what people look at first", () => {
  expect(firstResource(["cpu", "memory", GPU])).toBe(GPU);
  expect(firstResource(["memory", "cpu"])).toBe("cpu");
});

test("a host is colored by its own state or use as a whole", () => {
  const colors = [FULL, EMPTY, { ...FULL, ready: 0 }].map((host) => pieceOf(host, GPU, "health", legendOf([], "health"))?.color);
  expect(colors).toEqual(["--good-solid", "--hold-solid", "--bad-solid"]);
  expect([FULL, HALF].map((host) => pieceOf(host, GPU, "use", legendOf([], "use")))).toEqual([{ share: 1, color: "--use-6" }, { share: 1, color: "--use-3" }]);
  expect(pieceOf(EMPTY, GPU, "use", legendOf([], "use"))).toBeNull();
  expect([...legendOf([], "use").keys()]).toEqual(["0 to 17%", "17 to 33%", "33 to 50%", "50 to 67%", "67 to 83%", "83 to 100%"]);
  expect([isOfWorkloads("queue"), isOfWorkloads("use")]).toEqual([true, false]);
});

test("hosts have the color of their flavor, or of how much of them is free", () => {
  const other = { ...HALF, flavors: ["h100"] };
  const legend = legendOf([FULL, other], "flavor");
  expect([...legend]).toEqual([
    ["a100", "--queue-1"],
    ["h100", "--queue-2"],
  ]);
  expect([FULL, other].map((host) => pieceOf(host, GPU, "flavor", legend))).toEqual([{ share: 1, color: "--queue-1" }, { share: 1, color: "--queue-2" }]);
  expect([FULL, HALF].map((host) => pieceOf(host, GPU, "free", legendOf([], "free")))).toEqual([null, { share: 1, color: "--use-3" }]);
  expect(legendOf([], "free").get("33 to 50% free")).toBe("--use-3");
});

test("one domain of the highest level is shown at a time: the one that is zoomed into, else the first by name", () => {
  const named = (name: string): Domain => ({ ...BLOCK, path: [name] });
  const blocks = [named("b10"), named("b2")];
  expect(shownBlock(blocks, "")?.path).toEqual(["b2"]);
  expect(shownBlock(blocks, "b10/h1")?.path).toEqual(["b10"]);
  expect(shownBlock([BLOCK], "")).toBeUndefined();
  expect(shownBlock(HOSTS, "")).toBeUndefined();
});
