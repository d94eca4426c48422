import { expect, it } from "vitest";

import type { Foreseen } from "@/lib/api/types";

import { verdictWords } from "./outcomes";

const outcome = (verdict: Foreseen["verdict"], inTheEnd: Foreseen["verdict"]) => verdictWords({ verdict, inTheEnd } as Foreseen);

it("says at once what holds now and in the end", () => {
  expect(outcome("Waits", "Waits")).toBe("Would stay pending");
  expect(outcome("MakesRoom", "Admitted")).toBe("Would preempt other workloads; after their eviction: would be admitted now");
});

it("tells of a running workload that is removed when its pods stop", () => {
  expect(outcome("Admitted", "Gone")).toBe("Would be removed once its pods have stopped");
});
