import { describe, expect, it } from "vitest";
import { parse } from "yaml";

import type { ApplyResults } from "@/lib/api/types";

import { documentOf, issuesOf, issuesOfProblem, keyOf, lineOf, type Manifest, outcomeWords, streamOf } from "./documents";

const TEXT = `kind: Cohort
metadata:
  name: all
---
kind: ClusterQueue
metadata:
  name: gpu
spec:
  resourceGroups:
    - coveredResources: [cpu]
      flavors:
        - name: default
`;
const GPU = { kind: "ClusterQueue", namespace: "", name: "gpu" };

describe("manifests as people edit them", () => {
  it("leave out derived fields and keep the version they were read at", () => {
    const object = { apiVersion: "v", kind: "Cohort", metadata: { name: "a", uid: "u", generation: 2, resourceVersion: "7" }, spec: {}, status: { x: 1 } };
    const found = parse(documentOf(object)) as Manifest;
    expect(found).toEqual({ apiVersion: "v", kind: "Cohort", metadata: { name: "a", resourceVersion: "7" }, spec: {} });
  });

  it("are addressed by name, and by namespace where they have one", () => {
    expect(keyOf({ kind: "LocalQueue", metadata: { name: "main", namespace: "a" } })).toBe("a/main");
    expect(streamOf("ClusterQueue", "gpu")).toBe("clusterqueue/gpu");
  });
});

describe("what is wrong with them", () => {
  it("stands at the line its pointer leads to, in its own document", () => {
    expect(lineOf(TEXT, GPU, "/spec/resourceGroups/0/flavors/0/name")).toBe(12);
    expect(lineOf(TEXT, GPU, "/spec/resourceGroups/0/flavors/0/resources")).toBe(12);
    expect(lineOf(TEXT, GPU, "")).toBe(5);
    expect(lineOf(TEXT, { kind: "Topology", name: "none" }, "/spec")).toBeUndefined();
  });

  it("is told with what is advised, in order of lines", () => {
    const found = {
      position: 1,
      results: [{ kind: "ClusterQueue", namespace: "", name: "gpu", outcome: "rejected", problem: { errors: [{ pointer: "/spec/resourceGroups/0/flavors/0", rule: "No quota.", remedy: "Give one." }] } }],
      warnings: [{ ...GPU, pointer: "/metadata", rule: "UnitSlip", severity: "warning", message: "Odd.", remedy: "Look." }],
    } as unknown as ApplyResults;
    expect(issuesOf(TEXT, found).map(({ line, severity }) => [line, severity])).toEqual([
      [7, "warning"],
      [12, "error"],
    ]);
    expect(outcomeWords(found)).toBe("1 rejected");
  });

  it("is told as a whole where no rule has a place", () => {
    const [issue] = issuesOfProblem("a: b", { type: "", title: "", status: 422, detail: "No kind." });
    expect(issue).toMatchObject({ message: "No kind.", severity: "error" });
  });
});
