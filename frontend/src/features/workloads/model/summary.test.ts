import { expect, test } from "vitest";

import { rowOf } from "./rows-of-tests";
import { groupWords, reasonOf } from "./summary";

const EXPLAINED = { dominant: "InsufficientQuota", reason: "8 GPU short in vision", sentence: "Insufficient quota: 16 GPU requested" };

test("a pending workload has its reason in short, and the sentence", () => {
  expect(reasonOf(rowOf(EXPLAINED))).toEqual({ short: "8 GPU short in vision", whole: "Insufficient quota: 16 GPU requested" });
});

test("a held workload that can never start says both", () => {
  const explained = { dominant: "Unschedulable", reason: "8 GPU max, needs 16", sentence: "Unschedulable: 16 GPU requested" };
  expect(reasonOf(rowOf(explained)).short).toBe("8 GPU max, needs 16");
  expect(reasonOf(rowOf({ ...explained, phase: "OnHold" })).short).toBe("Unschedulable: 8 GPU max, needs 16");
});

test("a running workload has its place, and one that failed how it failed", () => {
  expect(reasonOf(rowOf({ ...EXPLAINED, phase: "Running" })).short).toBe("In vision");
  expect(reasonOf(rowOf({ phase: "Running", hosts: 1, host: "gpu-1" })).short).toBe("On gpu-1");
  expect(reasonOf(rowOf({ phase: "Running", hosts: 3, host: "gpu-1" })).short).toBe("On 3 hosts");
  expect(reasonOf(rowOf({ ...EXPLAINED, phase: "Failed", hosts: 1, host: "gpu-1" })).short).toBe("8 GPU short in vision");
});

test("nothing is said where the server tells nothing", () => {
  expect(reasonOf(rowOf({}))).toEqual({ short: "", whole: "" });
});

test("a group tells what needs a look before what runs", () => {
  const phases = { Running: 40, Succeeded: 9, OnHold: 3, Unschedulable: 1200 };
  expect(groupWords({ value: "main", count: 1252, gpus: 0, pods: 0, phases })).toBe("1,200 unschedulable, 3 on hold, 40 running");
  expect(groupWords({ value: "main", count: 0, gpus: 0, pods: 0 })).toBe("");
});
