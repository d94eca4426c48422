import { expect, test } from "vitest";

import type { WorkloadObject } from "@/lib/api/types";

import { situationOf } from "./summary";

function pending(conditions: object[]): WorkloadObject {
  return { status: { phase: "Pending", conditions } } as unknown as WorkloadObject;
}

test("a workload that waits says what for", () => {
  expect(situationOf(pending([{ type: "QuotaReserved", status: "False", message: "Needs 4 cpu" }]))).toBe("Needs 4 cpu");
});

test("one that was not evaluated says where the reason is, and not nothing", () => {
  expect(situationOf(pending([]))).toBe("Not evaluated by itself yet; open it for the reason");
});
