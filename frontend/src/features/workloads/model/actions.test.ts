import { expect, test } from "vitest";

import type { Phase, WorkloadObject } from "@/lib/api/types";

import { canBeUnblocked, commandFor, mainAction, stageOf, stageRefusal, verbOf } from "./actions";

function inPhase(phase: Phase, active = true): WorkloadObject {
  return {
    apiVersion: "kueue.x-k8s.io/v1beta2",
    kind: "Workload",
    metadata: { name: "train", namespace: "team-a", uid: "1", creationTimestamp: "2026-05-04T12:00:00Z", resourceVersion: "1" },
    spec: { podSets: [], active },
    status: { phase },
  };
}

test("nothing is done to what has ended", () => {
  expect(stageRefusal("hold", stageOf(inPhase("Succeeded")))).toBe("Already finished");
  expect(stageRefusal("cancel", stageOf(inPhase("Cancelled")))).toBe("Already finished");
});

test("only what is held is released, and nothing is held twice", () => {
  expect(stageRefusal("release", stageOf(inPhase("Pending")))).toBe("Not on hold");
  expect(stageRefusal("release", stageOf(inPhase("OnHold")))).toBeUndefined();
  expect(stageRefusal("hold", stageOf(inPhase("OnHold")))).toBeDefined();
});

test("a hold on a running workload is seen by its condition", () => {
  const running = inPhase("Running");
  running.status = {
    phase: "Running",
    conditions: [{ type: "Held", status: "True", reason: "Requested", lastTransitionTime: "2026-05-04T12:00:00Z" }],
  };
  expect(stageRefusal("release", stageOf(running))).toBeUndefined();
});

test("only what has a place gives it up", () => {
  expect(stageRefusal("requeue", stageOf(inPhase("Running")))).toBeUndefined();
  expect(stageRefusal("requeue", stageOf(inPhase("Pending")))).toBeDefined();
  expect(stageRefusal("activate", stageOf(inPhase("Inactive", false)))).toBeUndefined();
});

test("one action stands beside the menu, by phase", () => {
  const main = (phase: Phase, active = true) => mainAction(stageOf(inPhase(phase, active)));
  expect([main("Pending"), main("Running"), main("Retrying"), main("OnHold"), main("Inactive", false), main("Evicting")]).toEqual(["hold", "requeue", "requeue", "release", "activate", "hold"]);
});

test("the command says the same, one line per workload", () => {
  const command = commandFor("hold", ["team-a/x", "team-b/y"], { reason: "new driver", expirySeconds: 3600 });
  expect(command).toBe(
    "headgate hold x -n team-a --reason 'new driver' --for 3600s\nheadgate hold y -n team-b --reason 'new driver' --for 3600s",
  );
});

test("an action that waits for nothing says so, and one's own work needs no reason", () => {
  expect(verbOf("requeue", { phase: "Retrying", held: false, active: true })).toBe("Requeue now");
  expect(commandFor("cancel", ["team-a/x"], { reason: "", expirySeconds: 0 })).toBe("headgate cancel x -n team-a");
});

test("what has ended or has quota is not unblocked, also while its explanation still has remedies", () => {
  expect(canBeUnblocked(inPhase("Pending"))).toBe(true);
  expect(canBeUnblocked(inPhase("Cancelled"))).toBe(false);
  const admitted = { ...inPhase("QuotaReserved"), status: { phase: "QuotaReserved", admission: { clusterQueue: "gpu" } } } as WorkloadObject;
  expect(canBeUnblocked(admitted)).toBe(false);
});
