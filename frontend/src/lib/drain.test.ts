import { expect, test } from "vitest";

import type { Departure } from "@/lib/api/types";

import { departureCounts, departureWords, drainWords, worstFirst } from "./drain";

const moves: Departure = { workload: "a/one", pods: 1, outcome: "Moves", hosts: [{ host: "h2", pods: 1 }], reason: "" };

test("draining an empty host moves no workload", () => {
  expect(drainWords([])).toBe("Marks the host unschedulable. No workloads are affected.");
});

test("each workload on the host is listed with what the drain does to it", () => {
  const evicted: Departure = { ...moves, workload: "a/two", pods: 3, outcome: "Evicted", hosts: [], reason: "no rack has room" };
  const waits: Departure = { ...evicted, workload: "a/three", outcome: "Waits", reason: "" };
  expect(drainWords([moves, evicted, waits])).toBe(
    "Marks the host unschedulable. a/one (1 pod) moves to h2. a/two (3 pods) is evicted and pending again: no rack has room. " +
      "a/three (3 pods) waits for capacity elsewhere.",
  );
});

test("the workloads of an executor are counted, those that lose most first", () => {
  const evicted: Departure = { ...moves, workload: "a/two", outcome: "Evicted", hosts: [], reason: "no rack has 2 hosts." };
  const waits: Departure = { ...evicted, workload: "a/three", outcome: "Waits", reason: "" };
  expect(departureCounts([])).toBe("No workloads are affected");
  expect(departureCounts([moves, moves, evicted])).toBe("3 workloads: 1 is evicted, 2 move");
  expect(departureCounts([waits])).toBe("1 workload: 1 waits for capacity");
  expect(worstFirst([moves, waits, evicted]).map(({ workload }) => workload)).toEqual(["a/two", "a/three", "a/one"]);
  expect(departureWords(evicted)).toBe("a/two (1 pod) is evicted and pending again: no rack has 2 hosts");
});
