import { describe, expect, it } from "vitest";

import type { Eviction, WorkloadObject } from "@/lib/api/types";

import { nextOf, statusSummaryOf, stepsOf } from "./status-summary";

function workload(status: object, spec: object = {}, annotations: Record<string, string> = {}): WorkloadObject {
  return { metadata: { name: "a", annotations }, spec: { podSets: [], ...spec }, status: { phase: "Pending", ...status } } as unknown as WorkloadObject;
}

const SOFT = { id: "r", reason: "Preempted", mode: "Soft", stage: "Acknowledged", startedAt: "2026-01-01T00:00:00Z" };

describe("how a workload stands", () => {
  it("tells whether it is preemptible and where that is set", () => {
    const [first] = statusSummaryOf(workload({ preemptibility: { value: "NonPreemptible", source: "Label" } }));
    expect(first).toEqual({ term: "Can be preempted", words: "Non-preemptible (set by label)" });
  });

  it("tells protection only where it is another number", () => {
    expect(statusSummaryOf(workload({ priority: 5, preemptionPriority: 5 }))).toEqual([]);
    const [raised] = statusSummaryOf(workload({ priority: 5, preemptionPriority: 9 }, { preemptionPriorityClassName: "saving" }));
    expect(raised?.words).toBe("9 by class saving; queue priority 5");
  });

  it("warns of a closed gate and not of an open one", () => {
    const found = statusSummaryOf(workload({ preemptionGates: [{ name: "a", position: "Closed" }, { name: "b", position: "Open" }] }));
    expect(found.map(({ term, warns }) => [term, warns])).toEqual([
      ["Gate a", true],
      ["Gate b", false],
    ]);
  });

  it("tells which pods it gives up, and for which round", () => {
    const shrinking = [{ eviction: SOFT, podSets: [{ name: "main", going: 2, staying: 4, indices: "1,3" }] }];
    const [first] = statusSummaryOf(workload({ shrinking }));
    expect(first).toEqual({ term: "Scaling down", words: "2 of main (indices 1,3) stop, 4 keep running", round: "r", warns: true });
  });

  it("tells of each round that it gives up pods for", () => {
    const first = { eviction: SOFT, podSets: [{ name: "main", going: 2, staying: 4 }] };
    const second = { eviction: { ...SOFT, id: "s" }, podSets: [{ name: "main", going: 1, staying: 3 }] };
    const found = statusSummaryOf(workload({ shrinking: [first, second] }));
    expect(found.slice(0, 2).map(({ words, round }) => [words, round])).toEqual([
      ["2 of main stop, 4 keep running", "r"],
      ["1 more of main stop, 3 keep running", "s"],
    ]);
  });

  it("tells that it runs with fewer pods than it asked for", () => {
    const admission = { podSetAssignments: [{ name: "main", count: 4 }] };
    const [first] = statusSummaryOf(workload({ admission }, { podSets: [{ name: "main", count: 6 }] }));
    expect(first).toEqual({ term: "Partially admitted", words: "4 of 6 pods of main" });
    expect(statusSummaryOf(workload({ admission }, { podSets: [{ name: "main", count: 4 }] }))).toEqual([]);
  });

  it("counts evictions and names the workload it grew from", () => {
    const evictions = [{ reason: "Preempted", underlyingCause: "InCohortReclamation", count: 2 }];
    const found = statusSummaryOf(workload({ schedulingStats: { evictions } }, {}, { "kueue.x-k8s.io/workload-slice-replacement-for": "n/old" }));
    expect(found.map((each) => each.words)).toEqual(["2 times: Preempted, reclaims lent quota (InCohortReclamation)", "takes over the pods when it starts:"]);
    expect(found[1]?.workload).toBe("n/old");
  });

  it("says of one that has its place that it took the pods over", () => {
    const admission = { podSetAssignments: [{ name: "main", count: 4 }] };
    const found = statusSummaryOf(workload({ admission }, { podSets: [{ name: "main", count: 4 }] }, { "kueue.x-k8s.io/workload-slice-replacement-for": "n/old" }));
    expect(found.map((each) => each.words)).toEqual(["has the pods of"]);
  });
});

describe("an eviction", () => {
  it("is told step by step, and what time will bring", () => {
    const eviction = { ...SOFT, acknowledgedAt: "2026-01-01T00:00:01Z", handler: "ckpt", deadlineAt: "2026-01-01T00:01:00Z", onDeadline: "Force" } as Eviction;
    expect(stepsOf(eviction).map(({ words }) => words)).toEqual(["Eviction requested (soft)", "Acknowledged by ckpt"]);
    expect(nextOf(eviction)?.words).toBe("Deadline (kills its pods)");
  });

  it("has nothing ahead once it is forced", () => {
    expect(nextOf({ ...SOFT, stage: "Forced", deadlineAt: "2026-01-01T00:01:00Z" } as Eviction)).toBeNull();
  });
});
