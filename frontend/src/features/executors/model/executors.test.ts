import { expect, it } from "vitest";

import type { Executor } from "@/lib/api/types";

import { actionsOn, drainProgress, drainStateOf, faultsOf, nodeStateOf, policyWords, selectorText, stateOf, termsOf } from "./executors";

function executor(status: object, spec: object = {}): Executor {
  return { kind: "Executor", metadata: { name: "rack" }, spec, status } as unknown as Executor;
}

const SINCE = "2026-11-27T10:00:00Z";
const connected = (status: string) => ({ type: "Connected", status, reason: "x", message: "", lastTransitionTime: SINCE });

it("says whether an executor is heard of, lost, or never was there", () => {
  expect(stateOf(executor({ epoch: 1, conditions: [connected("True")] }))).toEqual({ words: "Connected", tone: "good", since: SINCE });
  expect(stateOf(executor({ epoch: 1, conditions: [connected("False")] }))).toEqual({ words: "Lost", tone: "bad", since: SINCE });
  expect(stateOf(executor({ conditions: [connected("False")] })).words).toBe("Never connected");
});

it("says what becomes of its pods, and what is wrong with its nodes", () => {
  expect(policyWords(executor({}))).toBe(policyWords(executor({}, { nodeLossPolicy: "Replace" })));
  expect(policyWords(executor({}, { nodeLossPolicy: "Wait" }))).toContain("keep their hosts");
  expect(termsOf(executor({}))).toEqual({ leaseSeconds: 60, policy: "Replace" });
  const active = { ...connected("False"), type: "Active" };
  expect(faultsOf(executor({ conditions: [connected("False"), active] }))).toEqual([active]);
});

it("selects the nodes by their labels", () => {
  expect(selectorText({ engine: "rack", zone: "a" })).toBe("engine=rack,zone=a");
});

it("says whether pods are placed on a node", () => {
  const ready = (status: string) => ({ conditions: [{ ...connected(status), type: "Ready" }] }) as never;
  expect(nodeStateOf({ spec: {}, status: ready("True") }).words).toBe("Ready");
  expect(nodeStateOf({ spec: { unschedulable: true }, status: ready("True") }).words).toBe("Cordoned");
  expect(nodeStateOf({ spec: { unschedulable: true, draining: true }, status: ready("True") }).words).toBe("Draining");
  expect(nodeStateOf({ spec: {}, status: ready("False") }).words).toBe("Not ready");
});

it("says how far the drain of an executor is", () => {
  const [open, cordoned, drained] = [{ spec: {} }, { spec: { unschedulable: true } }, { spec: { unschedulable: true, draining: true } }];
  expect(drainStateOf([open, cordoned, drained])).toEqual({ draining: 1, closed: 2, nodes: 3 });
  expect(drainProgress(drainStateOf([open, cordoned]), 3)).toBe("");
  expect(drainProgress(drainStateOf([open, drained]), 1)).toBe("Draining 1 of 2 nodes, 1 pod running");
  expect(drainProgress(drainStateOf([drained, drained]), 0)).toBe("Draining all nodes, no pods left");
  expect(actionsOn(drainStateOf([open, open]), 2)).toEqual(["drain"]);
  expect(actionsOn(drainStateOf([open, drained]), 2)).toEqual(["uncordon", "drain"]);
  expect(actionsOn(drainStateOf([drained]), 1)).toEqual(["uncordon"]);
  expect([actionsOn(drainStateOf([]), 0), actionsOn(drainStateOf([]), 3)]).toEqual([[], ["uncordon", "drain"]]);
});
