import { expect, test } from "vitest";

import type { QueueSummary, TopologyFits } from "@/lib/api/types";

import { type Topology, freeWords, gangPlace, largestGang } from "./room";

const SUMMARY = {
  resource: "nvidia.com/gpu",
  queues: [
    { clusterQueue: "vision", nominal: 48, used: 36, lent: 6 },
    { clusterQueue: "language", nominal: 48, used: 78, lent: 0 },
    { clusterQueue: "cpu-only", nominal: 0, used: 0, lent: 0 },
  ],
} as unknown as QueueSummary;

test("free is what neither the queue uses nor others borrow of it", () => {
  expect(freeWords(SUMMARY, "vision")).toBe("6 of 48 GPU free");
  expect(freeWords(SUMMARY, "language")).toBe("0 of 48 GPU free");
  expect(freeWords(SUMMARY, "cpu-only")).toBe("No GPU quota of its own");
  expect(freeWords(SUMMARY, "another")).toBe("");
});

test("the largest gang is that of the required level, else of the one above hosts", () => {
  const levels = ["block", "example.com/rack", "kubernetes.io/hostname"].map((nodeLabel) => ({ nodeLabel }));
  const topologies = [{ metadata: { name: "campus" }, spec: { levels } }] as unknown as Topology[];
  const fits = { fits: [{ level: "example.com/rack", flavor: "a", largest: 1 }, { level: "example.com/rack", flavor: "b", largest: 4 }, { level: "block", flavor: "a", largest: 9 }] } as unknown as TopologyFits;
  expect(largestGang(fits, gangPlace(topologies, ""))).toEqual({ term: "Largest gang in a rack", words: "4 pods" });
  expect(largestGang(fits, gangPlace(topologies, "block")).words).toBe("9 pods");
  expect(gangPlace(topologies, "zone")).toBeNull();
  expect(largestGang(undefined, null).words).toBe("");
});
