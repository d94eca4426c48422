import { expect, test } from "vitest";

import type { Causes, SystemStatus } from "@/lib/api/types";

import { schedulingOf, unschedulableOf } from "./figures";

test("only causes of unschedulable workloads count as such", () => {
  const causes = [
    { kind: "NeverStarts", count: 18, gpuSeconds: 7 },
    { kind: "NodeNotReady", count: 8, gpuSeconds: 9 },
  ];
  expect(unschedulableOf({ causes } as Causes)).toEqual({ count: 18, gpuSeconds: 7 });
});

test("a halted partition is told before a lag", () => {
  const partition = (halted: string) => ({ halted }) as SystemStatus["partitions"][number];
  expect(schedulingOf({ partitions: [partition("")], headLagSeconds: 0.21 } as SystemStatus)).toEqual({ words: "Healthy", detail: "1 partition, lag 0.2 s" });
  expect(schedulingOf({ partitions: [partition("")], headLagSeconds: 75 } as SystemStatus).words).toBe("Behind");
  expect(schedulingOf({ partitions: [partition("error"), partition("")], headLagSeconds: 75 } as SystemStatus).words).toBe("1 halted");
});
