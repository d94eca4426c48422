import { expect, test } from "vitest";

import { allocationWords, amountWords, byAllocation, deviceWords, freeWords } from "./allocations";

const GPU = "nvidia.com/gpu";
const NOW = new Date("2026-11-28T14:00:00Z");
const TRAIN = { key: "a/train", pods: 2, clusterQueue: "vision", priority: 0, requests: { cpu: 8000, memory: 2 ** 30, [GPU]: 4, pods: 2 }, endsAt: "2026-11-28T15:10:00Z" };
const ETL = { key: "a/etl", pods: 1, clusterQueue: "batch", priority: 0, requests: { cpu: 1500, [GPU]: 0, pods: 1 }, endsAt: null };

test("a workload is told with its GPUs, or its CPU without any, and its end where that is known", () => {
  expect(allocationWords(TRAIN, NOW)).toMatch(/^4 GPU, vision, until \d\d:10$/);
  expect(allocationWords(ETL, NOW)).toBe("1.5 CPU, batch");
  expect(allocationWords({ ...TRAIN, clusterQueue: "", endsAt: null }, NOW)).toBe("4 GPU");
  expect(amountWords({ requests: { pods: 3 }, pods: 3 })).toBe("3 pods");
});

test("what is free is told with its units, and why nothing is", () => {
  const host = { ready: true, cordoned: false, allocatable: { pods: 110, memory: 2 ** 40, cpu: 64_000, [GPU]: 8 }, free: { pods: 108, memory: 208 * 2 ** 30, cpu: 26_000, [GPU]: 2 } };
  expect(freeWords(host)).toBe("Free: 2 GPU, 26 CPU, 208 GiB");
  expect(freeWords({ ...host, cordoned: true, free: {} })).toBe("Nothing free while it is cordoned");
  expect(freeWords({ ...host, ready: false, free: {} })).toBe("Nothing free while it is not ready");
});

test("devices are told by their models and errors, and not at all where none are known", () => {
  expect(deviceWords({ models: ["NVIDIA H100"], deviceErrors: 0 })).toBe("NVIDIA H100, 0 device errors");
  expect(deviceWords({ models: [], deviceErrors: 1 })).toBe("1 device error");
  expect(deviceWords({ models: [], deviceErrors: null })).toBe("");
});

test("workloads that take most of a host come first", () => {
  expect([ETL, TRAIN].sort(byAllocation)).toEqual([TRAIN, ETL]);
});
