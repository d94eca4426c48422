import { expect, test } from "vitest";

import type { Simulation } from "@/lib/api/types";

import { forecastOf } from "./forecast";

function simulated(workload: object): Simulation {
  return { workloads: [{ sentence: "16 GPU short", dominant: "WaitingForQuota", verdict: "Waits", ...workload }], evictions: 0 } as unknown as Simulation;
}

const clock = (at: string) => at.slice(11, 16);

test("a forecast says whether it starts, when, or what it lacks", () => {
  expect(forecastOf(simulated({ verdict: "Admitted" }), clock)?.title).toBe("Starts now");
  expect(forecastOf(simulated({ verdict: "MakesRoom", victims: [{ workload: "a/b" }] }), clock)).toMatchObject({ title: "Starts after preempting 1 workload", preempts: "a/b" });
  const expectedStart = { about: "2026-05-04T14:20:00Z", earliest: "2026-05-04T14:10:00Z", latest: "2026-05-04T15:05:00Z" };
  expect(forecastOf(simulated({ expectedStart, position: { clusterQueue: 4, of: 61 } }), clock)).toMatchObject({
    title: "Starts about 14:20 (14:10 to 15:05)",
    details: ["16 GPU short"],
    position: "Queue position 4 of 61",
    preempts: "none",
  });
  expect(forecastOf(simulated({ dominant: "Unschedulable" }), clock)?.tone).toBe("bad");
});

test("only edits of the workload itself are offered", () => {
  const edits = [{ kind: "Workload", text: "4 pods instead of 8" }, { kind: "ClusterQueue", text: "Raise quota" }];
  expect(forecastOf(simulated({ edits }), clock)?.edits.map(({ text }) => text)).toEqual(["4 pods instead of 8"]);
});
