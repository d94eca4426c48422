import { expect, test } from "vitest";

import type { Fact } from "@/lib/api/types";

import { after, correlationWords, eventRows, groupDetail, groupWords, groupedRows, objectsOf } from "./groups";

const fact = (position: number, correlation: string, rest: Partial<Fact> = {}) => ({ position, correlation, type: "workload.explained", stream: `workload/a/${position}`, actor: "scheduler", data: {}, ...rest }) as Fact;

test("events of one cause are one row where the newest of them stands", () => {
  const facts = [fact(9, "cycle"), fact(8, ""), fact(7, "cycle"), fact(6, "alone")];
  expect(groupedRows(facts, new Set()).map(({ key, group }) => [key, group?.length])).toEqual([
    ["cycle", 2],
    ["8", undefined],
    ["6", undefined],
  ]);
  expect(groupedRows(facts, new Set(["cycle"])).map(({ key, isInside }) => [key, isInside ?? false])).toEqual([
    ["cycle", false],
    ["9", true],
    ["7", true],
    ["8", false],
    ["6", false],
  ]);
  expect(eventRows(facts).map(({ key }) => key)).toEqual(["9", "8", "7", "6"]);
});

test("events without a cause are never one group", () => {
  expect(groupedRows([fact(2, ""), fact(1, "")], new Set())).toHaveLength(2);
});

test("a group says what caused it and what it is made of", () => {
  const cycle = [fact(3, "c", { type: "workload.quota_reserved" }), fact(2, "c"), fact(1, "c", { stream: "workload/a/2" })];
  expect([groupWords(cycle), groupDetail(cycle), objectsOf(cycle)]).toEqual(["Scheduling cycle", "2 Pending reason updated, 1 Quota reserved", 2]);
  expect(groupWords([...cycle, fact(0, "c", { type: "round.committed" })])).toBe("Preemption round");
  expect(groupWords([fact(1, "c", { actor: "user:ana", causation: "batch:1" })])).toBe("Bulk action");
  expect(groupWords([fact(1, "c", { actor: "user:ana" })])).toBe("Request");
});

test("a correlation ID is told by what it names", () => {
  const id = "01a22009-d84c-7000-8002-ed2bb0b44f1c";
  expect(correlationWords(fact(1, id))).toBe("cycle 4f1c");
  expect(correlationWords(fact(1, id, { actor: "user:ana", causation: `request:${id}` }))).toBe("request 4f1c");
  expect(correlationWords(fact(1, id, { actor: "user:ana", causation: "batch:hold" }))).toBe("bulk action 4f1c");
  expect(correlationWords(fact(1, ""))).toBe("—");
});

test("effects are what came after, the first of them first", () => {
  const facts = [fact(9, "c"), fact(4, "c"), fact(7, "c"), fact(5, "c")];
  expect(after(fact(5, "c"), facts, 5).map(({ position }) => position)).toEqual([7, 9]);
  expect(after(fact(1, "c"), facts, 2).map(({ position }) => position)).toEqual([4, 5]);
});
