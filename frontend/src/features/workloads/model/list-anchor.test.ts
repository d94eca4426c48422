import { expect, test } from "vitest";

import type { WorkloadObject } from "@/lib/api/types";

import { anchorOf, splitAtAnchor, keyOf } from "./list-anchor";

function workload(name: string, creationTimestamp: string): WorkloadObject {
  return {
    apiVersion: "kueue.x-k8s.io/v1beta2",
    kind: "Workload",
    metadata: { name, namespace: "team-a", uid: name, creationTimestamp, resourceVersion: "1" },
    spec: { podSets: [] },
    status: { phase: "Pending" },
  };
}

const OLD = workload("old", "2026-05-04T12:00:00Z");
const NEW = workload("new", "2026-05-04T12:00:05.250000Z");

test("what is submitted after the list was let in waits behind the button", () => {
  const arranged = splitAtAnchor([NEW, OLD], anchorOf([OLD]));
  expect(arranged.shown.map(keyOf)).toEqual(["team-a/old"]);
  expect(arranged.waiting).toBe(1);
});

test("older pages are shown as they are loaded", () => {
  expect(splitAtAnchor([NEW, OLD], anchorOf([NEW])).waiting).toBe(0);
});

test("an empty list shows its first arrivals at once", () => {
  expect(splitAtAnchor([NEW], anchorOf([])).shown).toHaveLength(1);
});

test("within one second the order of the list decides", () => {
  const later = workload("later", NEW.metadata.creationTimestamp ?? "");
  expect(splitAtAnchor([later, NEW, OLD], anchorOf([NEW, OLD])).waiting).toBe(1);
});

test("when the anchor leaves the list, what came after it still waits", () => {
  expect(splitAtAnchor([NEW, OLD], { at: "2026-05-04T12:00:03Z", key: "team-a/gone" }).shown).toEqual([OLD]);
});
