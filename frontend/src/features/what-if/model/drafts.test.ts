import { describe, expect, it } from "vitest";
import { parse } from "yaml";

import type { WorkloadObject } from "@/lib/api/types";

import { FIRST_DRAFT, documentOf, duplicateOf } from "./drafts";

interface Manifest {
  metadata: { name: string; namespace: string };
  spec: { queueName: string; priority?: number; podSets: { count: number; topologyRequest?: { required: string }; template: { spec: { containers: { resources: { requests: object } }[] } } }[] };
  status?: unknown;
}

describe("the document that is tried out", () => {
  it("says what the form says", () => {
    const found = parse(documentOf({ ...FIRST_DRAFT, door: "team-a/main", pods: "3", gpu: "2" })) as Manifest;
    expect(found.metadata.namespace).toBe("team-a");
    expect(found.spec.queueName).toBe("main");
    expect(found.spec.podSets[0]?.count).toBe(3);
    expect(found.spec.podSets[0]?.template.spec.containers[0]?.resources.requests).toEqual({ cpu: "1", memory: "1Gi", "nvidia.com/gpu": "2" });
    expect(found.spec.priority).toBeUndefined();
    expect(found.spec.podSets[0]?.topologyRequest).toBeUndefined();
  });

  it("keeps the pods together where the form says so", () => {
    const found = parse(documentOf({ ...FIRST_DRAFT, level: "example.com/rack" })) as Manifest;
    expect(found.spec.podSets[0]?.topologyRequest).toEqual({ required: "example.com/rack" });
  });

  it("is like a workload that is there, under another name and without its status", () => {
    const workload = { apiVersion: "v", kind: "Workload", metadata: { name: "train", namespace: "a" }, spec: { queueName: "q" }, status: { phase: "Pending" } };
    const found = parse(duplicateOf(workload as unknown as WorkloadObject)) as Manifest;
    expect(found.metadata.name).toBe("train-again");
    expect(found.status).toBeUndefined();
  });
});
