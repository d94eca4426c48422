import { expect, test } from "vitest";

import type { Advice, Revision } from "@/lib/api/types";

import { statesOf } from "./health";

const advice = (name: string, severity: string, namespace = ""): Advice => ({ kind: "LocalQueue", namespace, name, pointer: "/spec", rule: "Rule", severity, message: `${name} is odd`, remedy: "", code: "", arguments: {} });
const change = (at: string, actor: string, namespace: string, name: string): Revision => ({ position: 1, at, stream: "", kind: "LocalQueue", namespace, name, type: "local_queue.changed", actor, reason: "budget", differences: [] });

test("objects with warnings come first, each with its last change", () => {
  const found = statesOf(
    "LocalQueue",
    ["a/main", "b/main", "c/main"],
    [advice("main", "note", "b"), advice("main", "warning", "c"), advice("main", "note", "c"), { ...advice("main", "warning", "a"), kind: "Cohort" }],
    [change("2026-05-04T12:00:00Z", "user:ana", "c", "main"), change("2026-05-03T12:00:00Z", "user:ben", "c", "main")],
  );
  expect(found.map(({ key, health }) => [key, health.words])).toEqual([["c/main", "1 warning"], ["b/main", "1 note"], ["a/main", "OK"]]);
  expect(found[0]?.change).toEqual({ at: "2026-05-04T12:00:00Z", by: "ana", reason: "budget" });
  expect(found[0]?.health.messages).toEqual(["main is odd", "main is odd"]);
  expect(found[1]?.change).toBeUndefined();
});
