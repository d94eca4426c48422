import { expect, test } from "vitest";

import { barOf, bindingOf } from "@/components/ui/constraint-model";
import type { Blocker, Explanation, WorkloadObject } from "@/lib/api/types";

import { changesOf, edited, requestWords, resultOf } from "./edits";
import { otherWords, verdictOf } from "./verdict";

const clock = (at: string) => at.slice(11, 16);

function explained(given: object): Explanation {
  return { workload: "a/x", phase: "Pending", dominant: "WaitingForQuota", sentence: "8 GPU short", blockers: [], ...given } as unknown as Explanation;
}

const RANGE = { about: "2026-05-04T14:20:00Z", earliest: "2026-05-04T14:10:00Z", latest: "2026-05-04T15:05:00Z", basis: "waits", calibration: { predictions: 10, held: 8 } };

test("a pending workload has its expected start first, and how well such ranges held", () => {
  const { tone, title, details } = verdictOf(explained({ expectedStart: RANGE }), undefined, clock);
  expect([tone, title]).toEqual(["wait", "Starts about 14:20 (14:10 to 15:05)"]);
  expect(details).toEqual(["8 GPU short", "Range: waits.", "80% of 10 such ranges held (aim 80%)."]);
});

test("one that can never start is red, one on hold violet with person and reason", () => {
  expect(verdictOf(explained({ dominant: "Unschedulable", sentence: "Unschedulable: too large" }), undefined, clock)).toMatchObject({ tone: "bad", title: "Unschedulable: too large" });
  const hold = { owner: "admin:ana", reason: "driver upgrade", expiresAt: "2026-05-04T14:20:00Z" };
  const held = { status: { hold } } as unknown as WorkloadObject;
  expect(verdictOf(explained({ phase: "OnHold" }), held, clock)).toMatchObject({ tone: "hold", title: "On hold by ana until 14:20: driver upgrade" });
});

test("one behind the head of a StrictFIFO queue is gray, with the head and why that is pending", () => {
  const behind = { dominant: "BehindHead", sentence: "Blocked by head of StrictFIFO queue: a/big (short)" } as const;
  const head = { key: "a/big" };
  expect(verdictOf(explained({ ...behind, arguments: { head, why: { text: "8 GPU short" } } }), undefined, clock)).toEqual({ tone: "idle", title: "Not evaluated: behind big (StrictFIFO)", details: ["big: 8 GPU short"] });
  expect(verdictOf(explained(behind), undefined, clock).title).toBe("Not evaluated: blocked by head of StrictFIFO queue: a/big (short)");
});

test("the range of the submission is kept beside the start", () => {
  const expectedStart = { ...RANGE, startedAt: "2026-05-04T15:30:00Z" };
  expect(verdictOf(explained({ phase: "Running", sentence: "Running", expectedStart }), undefined, clock).details[0]).toBe(
    "Started 15:30, outside the estimate at submission (14:10 to 15:05).",
  );
});

test("the binding constraint is the one of the sentence, as a bar", () => {
  const cpu = { type: "Quota", resource: "cpu", need: 4000, have: 1000, shortBy: 3000, message: "3 CPU short" } as unknown as Blocker;
  const gpu = { type: "Quota", resource: "nvidia.com/gpu", need: 16, have: 8, shortBy: 8, message: "8 GPU short" } as unknown as Blocker;
  const found = explained({ blockers: [cpu, gpu] });
  expect(bindingOf(found)).toBe(gpu);
  expect(barOf(gpu)).toEqual({ share: 0.5, have: "8 GPU", need: "16 GPU", short: "8 GPU" });
  expect(otherWords(found, gpu)).toBe("1 other constraint: CPU");
});

test("an edit changes a copy of the manifest, and refuses one that changed meanwhile", () => {
  const manifest = { spec: { podSets: [{ count: 40, template: { requests: { "nvidia.com/gpu": "9" } } }] } };
  const fewer = { patch: [{ op: "replace" as const, path: "/spec/podSets/0/count", value: 16 }] };
  expect(edited(manifest, fewer)).toMatchObject({ spec: { podSets: [{ count: 16 }] } });
  expect(manifest.spec.podSets[0]?.count).toBe(40);
  expect(changesOf(manifest, fewer)).toEqual([{ path: "spec.podSets.0.count", before: "40", after: "16" }]);
  const tested = { patch: [{ op: "test" as const, path: "/spec/podSets/0/template/requests/nvidia.com~1gpu", value: "8" }] };
  expect(() => edited(manifest, tested)).toThrow("has changed meanwhile");
});

test("a simulation says whether the workload then starts", () => {
  const simulation = { workloads: [{ workload: "a/x", verdict: "MakesRoom", victims: [{}] }], effects: [] } as never;
  expect(resultOf(simulation, "a/x")).toEqual({ words: "Starts after preempting 1 workload", good: true });
  expect(resultOf({ workloads: [], effects: [{ workload: "a/x", what: "Starts" }] } as never, "a/x").good).toBe(true);
});

test("an edit without the role for it becomes a request", () => {
  expect(requestWords({ text: "Raise quota of vision by 192 GPU", requires: "admin" }, "team-a/train")).toBe("Raise quota of vision by 192 GPU, so that team-a/train can start (needs the role admin)");
});

test("one in backoff says when it is tried again, and why", () => {
  const workload = { status: { requeueState: { requeueAt: "2026-05-04T14:20:00Z" }, conditions: [{ type: "Evicted", message: "Pods were not ready in 20 s" }] } } as unknown as WorkloadObject;
  const backoff = explained({ phase: "Retrying", dominant: "BackingOff", sentence: "Retry 1 of 2 in 9 s", code: "RetryAfterBackoff", arguments: { attempt: 1, limit: 2 } });
  expect(verdictOf(backoff, workload, clock)).toEqual({ tone: "wait", title: "Retrying at 14:20 (retry 1 of 2)", details: ["Pods were not ready in 20 s"] });
  const check = { ...backoff, code: "CheckRetry", arguments: {} };
  expect(verdictOf(check, workload, clock).title).toBe("Retrying at 14:20: an admission check asked for it");
});

test("one that failed says how, with the last five lines", () => {
  const pod = { attempt: 1, rank: 3, podSet: "main", index: 3, run: 1, node: "gpu-1", exitCode: 137, reason: "OOMKilled", lastLines: ["1", "2", "3", "4", "5", "6"] };
  expect(verdictOf(explained({ phase: "Failed", sentence: "Failed", failedPods: [pod] }), undefined, clock)).toEqual({
    tone: "bad",
    title: "Failed: exit 137 on rank 3, out of memory",
    details: [],
    log: ["2", "3", "4", "5", "6"],
  });
  expect(verdictOf(explained({ phase: "Failed", sentence: "Failed: no pods left" }), undefined, clock)).toMatchObject({ title: "Failed: no pods left", details: [] });
});
