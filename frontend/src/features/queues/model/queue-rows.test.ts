import { describe, expect, it } from "vitest";

import type { CapacityPoint, QueueNode, QueueRow, QuotaLine } from "@/lib/api/types";

import { cohortsOf, flavorsOf, orderedRows, resourcesOf, type RowSources, treeRows } from "./queue-rows";

const GPU = "nvidia.com/gpu";
const line = (flavor: string, nominal: number, used: number, rest: Partial<QuotaLine> = {}): QuotaLine => ({ flavor, resource: GPU, nominal, used, borrowed: 0, lent: 0, available: 0, ...rest });
const queue = (name: string, lines: QuotaLine[]): QueueNode => ({ kind: "ClusterQueue", name, children: [], lines });
const vision = queue("vision", [line("a100", 8, 4), line("h100", 4, 6, { borrowed: 2, borrowedFrom: [{ clusterQueue: "language", amount: 2 }] }), { ...line("a100", 64, 8), resource: "cpu" }]);
const language = queue("language", [line("h100", 8, 1, { lent: 2 })]);
const roots: QueueNode[] = [{ kind: "Cohort", name: "research", children: [vision, language], lines: [line("a100", 10, 4), line("h100", 12, 7)] }];
const row = (clusterQueue: string, pending: number, waitP95Seconds: number | null) => ({ clusterQueue, pending, pendingWorkloads: 1, waitP95Seconds }) as QueueRow;
const sources: RowSources = {
  resource: GPU,
  flavor: "",
  queues: new Map([
    ["vision", row("vision", 16, 60)],
    ["language", row("language", 4, null)],
  ]),
  points: [{ queues: [{ clusterQueue: "vision", used: 3 }, { clusterQueue: "language", used: 1 }] } as CapacityPoint],
};
const NONE = new Set<string>();

describe("rows of the tree of queues", () => {
  it("add up flavors, and for cohorts the demand of their members", () => {
    const [cohort, first, second] = treeRows(roots, sources, NONE, "");
    expect([cohort?.line?.nominal, cohort?.line?.used, cohort?.pending, cohort?.waitP95Seconds]).toEqual([22, 11, 20, undefined]);
    expect([first?.depth, first?.line?.nominal, first?.line?.used, first?.line?.borrowed]).toEqual([1, 12, 10, 2]);
    expect([second?.line?.lent, second?.waitP95Seconds, cohort?.trend, first?.trend]).toEqual([2, null, [4], [3]]);
  });

  it("are those of one flavor where one is chosen", () => {
    const rows = treeRows(roots, { ...sources, flavor: "a100" }, NONE, "");
    expect(rows.map((one) => one.line?.nominal)).toEqual([10, 8, undefined]);
    expect(flavorsOf(roots, GPU)).toEqual(["a100", "h100"]);
    expect(resourcesOf(roots)).toEqual([GPU, "cpu"]);
  });

  it("leave out what is closed or has another name", () => {
    expect(treeRows(roots, sources, new Set(["research"]), "").map(({ node }) => node.name)).toEqual(["research"]);
    expect(treeRows(roots, sources, NONE, "LANG").map(({ node }) => node.name)).toEqual(["research", "language"]);
    expect(treeRows(roots, sources, NONE, "nothing")).toEqual([]);
  });

  it("can be closed at every cohort", () => {
    expect(cohortsOf([{ kind: "Cohort", name: "campus", children: roots, lines: [] }])).toEqual(["campus", "research"]);
  });

  it("are ClusterQueues alone in another order", () => {
    const rows = treeRows(roots, sources, NONE, "");
    const names = (order: string) => orderedRows(rows, order).map(({ node }) => node.name);
    expect([names("-used"), names("used"), names("-wait"), names("name"), names("-name")]).toEqual([
      ["vision", "language"],
      ["language", "vision"],
      ["vision", "language"],
      ["language", "vision"],
      ["vision", "language"],
    ]);
  });
});
