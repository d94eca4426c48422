import { expect, test } from "vitest";

import type { Phase, WorkloadObject } from "@/lib/api/types";

import { reasonOf } from "./summary";

const EXPLANATION = { dominant: "InsufficientQuota", summary: "8 GPU short in vision", sentence: "Insufficient quota: 16 GPU requested" };
const ADMISSION = { clusterQueue: "vision", podSetAssignments: [] };

function workload(phase: Phase, status: object = {}): WorkloadObject {
  return { status: { phase, explanation: EXPLANATION, ...status } } as unknown as WorkloadObject;
}

test("a pending workload has its reason in short, and the sentence", () => {
  expect(reasonOf(workload("Pending"))).toEqual({ short: "8 GPU short in vision", whole: "Insufficient quota: 16 GPU requested" });
});

test("a held workload that can never start says both", () => {
  const explanation = { dominant: "Unschedulable", summary: "8 GPU max, needs 16", sentence: "Unschedulable: 16 GPU requested" };
  expect(reasonOf(workload("Pending", { explanation })).short).toBe("8 GPU max, needs 16");
  expect(reasonOf(workload("OnHold", { explanation })).short).toBe("Unschedulable: 8 GPU max, needs 16");
});

test("a running workload has its place, and one that failed how it failed", () => {
  expect(reasonOf(workload("Running", { admission: ADMISSION })).short).toBe("In vision");
  expect(reasonOf(workload("Failed", { admission: ADMISSION })).short).toBe("8 GPU short in vision");
});

test("nothing is said where the server tells nothing", () => {
  expect(reasonOf(workload("Pending", { explanation: undefined }))).toEqual({ short: "", whole: "" });
});
