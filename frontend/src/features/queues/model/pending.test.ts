import { expect, test } from "vitest";

import type { PendingWorkload } from "@/lib/api/types";

import { constraintBar, pendingRows, startWords } from "./pending";

const workload = (name: string, dominant: string) => ({ metadata: { namespace: "a", name }, dominant }) as PendingWorkload;

test("where the head of a strict queue keeps others from evaluation, a note says so", () => {
  const items = [workload("head", "Quota"), workload("b", "BehindHead"), workload("c", "BehindHead")];
  expect(pendingRows(items, "StrictFIFO", true).map(({ note }) => note)).toEqual([
    undefined,
    "2 workloads behind this point are not evaluated (StrictFIFO head: head)",
    undefined,
    undefined,
  ]);
  expect(pendingRows(items, "StrictFIFO", false)[1]?.note).toMatch(/^Workloads behind/);
  expect(pendingRows(items, "BestEffortFIFO", true)).toEqual(items);
});

test("a start is a range, and why there is none is told beside it", () => {
  const now = new Date("2026-11-27T10:00:00Z");
  const range = { about: "2026-11-27T12:00:00Z", earliest: "2026-11-27T11:00:00Z", latest: "2026-11-27T13:00:00Z" };
  expect(startWords({ dominant: "Quota", expectedStart: range }, now).words).toMatch(/^\d\d:\d\d to \d\d:\d\d$/);
  const later = { about: "2026-12-04T12:30:00Z", earliest: "2026-12-04T12:00:00Z", latest: "2026-12-04T13:00:00Z" };
  expect(startWords({ dominant: "Quota", expectedStart: later }, now).words).toMatch(/^Fri\D+4\D+, \d\d:\d\d to \d\d:\d\d$/);
  expect(startWords({ dominant: "Quota", expectedStart: { cannotSay: "No start estimate: x" } }, now)).toEqual({ words: "no estimate", detail: "No start estimate: x" });
  expect(startWords({ dominant: "Unschedulable" }, now).words).toBe("—");
});

test("a constraint is a bar of what is needed", () => {
  expect(constraintBar({ constraint: { resource: "nvidia.com/gpu", need: 16, have: 8 } })).toEqual({ share: 0.5, words: "8 GPU of 16 GPU available" });
  expect(constraintBar({ constraint: { resource: "", need: 4, have: 1 } })?.words).toBe("1 pod of 4 pods available");
  expect(constraintBar({})).toBeUndefined();
});
