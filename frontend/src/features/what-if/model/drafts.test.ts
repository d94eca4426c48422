import { describe, expect, it } from "vitest";
import { parse } from "yaml";

import type { WorkloadObject } from "@/lib/api/types";

import { FIRST_DRAFT, documentOf, likeness } from "./drafts";

interface Manifest {
  metadata: { name: string };
  spec: { queueName: string; priority?: number; podSets: { count: number; template: { spec: { containers: { resources: { requests: object } }[] } } }[] };
  status?: unknown;
}

describe("the document that is tried out", () => {
  it("says what the form says", () => {
    const found = parse(documentOf({ ...FIRST_DRAFT, queue: "main", pods: "3", gpu: "2" })) as Manifest;
    expect(found.spec.queueName).toBe("main");
    expect(found.spec.podSets[0]?.count).toBe(3);
    expect(found.spec.podSets[0]?.template.spec.containers[0]?.resources.requests).toEqual({ cpu: "1", "nvidia.com/gpu": "2" });
    expect(found.spec.priority).toBeUndefined();
  });

  it("is like a workload that is there, under another name and without its status", () => {
    const workload = { apiVersion: "v", kind: "Workload", metadata: { name: "train", namespace: "a" }, spec: { queueName: "q" }, status: { phase: "Pending" } };
    const found = parse(likeness(workload as unknown as WorkloadObject)) as Manifest;
    expect(found.metadata.name).toBe("train-again");
    expect(found.status).toBeUndefined();
  });
});
