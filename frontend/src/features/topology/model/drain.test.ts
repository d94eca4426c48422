import { expect, test } from "vitest";

import type { Departure } from "@/lib/api/types";

import { drainWords } from "./drain";

const moves: Departure = { workload: "a/one", pods: 1, outcome: "Moves", hosts: [{ host: "h2", pods: 1 }], reason: "" };

test("draining an empty host moves no workload", () => {
  expect(drainWords([])).toBe("It takes no new pods. No workload of ours has to move.");
});

test("each workload on the host is listed with what the drain does to it", () => {
  const evicted: Departure = { ...moves, workload: "a/two", pods: 3, outcome: "Evicted", hosts: [], reason: "no rack has room" };
  const waits: Departure = { ...evicted, workload: "a/three", outcome: "Waits", reason: "" };
  expect(drainWords([moves, evicted, waits])).toBe(
    "It takes no new pods. a/one (1 pod) moves to h2. a/two (3 pods) is evicted and waits again: no rack has room. " +
      "a/three (3 pods) stays until there is room elsewhere.",
  );
});
