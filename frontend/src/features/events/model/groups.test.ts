import { expect, test } from "vitest";

import type { EventGroup, Fact } from "@/lib/api/types";

import { after, correlationWords, countWords, eventRows, type Group, groupDetail, groupWords, groupedRows, type Whole } from "./groups";

const fact = (position: number, correlation: string, rest: Partial<Fact> = {}) => ({ position, correlation, type: "workload.explained", stream: `workload/a/${position}`, actor: "scheduler", data: {}, ...rest }) as Fact;

const NONE = new Map<string, Whole | undefined>();
const sum = (correlation: string, types: Record<string, number>, exceeded = false): EventGroup => ({ correlation, types, objects: 3, exceeded });

test("events of one cause are one row where the newest of them stands", () => {
  const facts = [fact(9, "cycle"), fact(8, ""), fact(7, "cycle"), fact(6, "alone")];
  const sums = [sum("cycle", { "workload.explained": 2 }), sum("alone", { "workload.explained": 1 })];
  expect(groupedRows(facts, sums, NONE).map(({ key, group }) => [key, group?.count])).toEqual([
    ["cycle", 2],
    ["8", undefined],
    ["6", undefined],
  ]);
  const wholes = new Map([["cycle", { facts: [fact(9, "cycle"), fact(7, "cycle")], isAll: true }]]);
  expect(groupedRows(facts, sums, wholes).map(({ key, isInside }) => [key, isInside ?? false])).toEqual([
    ["cycle", false],
    ["9", true],
    ["7", true],
    ["8", false],
    ["6", false],
  ]);
  expect(eventRows(facts).map(({ key }) => key)).toEqual(["9", "8", "7", "6"]);
});

test("a group has all its events, however few of them are in the list", () => {
  const sums = [sum("cycle", { "workload.explained": 130, "round.committed": 1 })];
  const [head] = groupedRows([fact(900, "cycle")], sums, NONE);
  expect(head?.group && [groupWords(head.group), countWords(head.group), groupDetail(head.group), head.group.objects]).toEqual([
    "Preemption round",
    "131 events",
    "130 Pending reason updated, 1 Preemption started",
    3,
  ]);
  const read = [900, 899].map((position) => fact(position, "cycle"));
  const opened = groupedRows([fact(900, "cycle")], sums, new Map([["cycle", { facts: read, isAll: false }]]));
  expect(opened.map(({ key, left }) => [key, left])).toEqual([
    ["cycle", undefined],
    ["900", undefined],
    ["899", undefined],
    ["cycle more", "129 more"],
  ]);
  // Until it is read, what the list has stands below its head.
  expect(groupedRows([fact(900, "cycle")], sums, new Map([["cycle", undefined]])).map(({ key }) => key)).toEqual(["cycle", "900"]);
});

test("a group that is not counted to its end may have more", () => {
  const words = (sums: EventGroup[], wholes = NONE) => groupedRows([fact(2, "c"), fact(1, "c")], sums, wholes)[0]?.group;
  const of = (group: Group | undefined) => group && countWords(group);
  expect(of(words([sum("c", { "workload.explained": 1001 }, true)]))).toBe("1,000+ events");
  expect(of(words([]))).toBe("2+ events");
  expect(of(words([], new Map([["c", { facts: [fact(2, "c"), fact(1, "c")], isAll: true }]])))).toBe("2 events");
});

test("events without a cause are never one group", () => {
  expect(groupedRows([fact(2, ""), fact(1, "")], [], NONE)).toHaveLength(2);
});

test("a group says what caused it and what it is made of", () => {
  const of = (facts: Fact[]) => groupedRows(facts, [], new Map([["c", { facts, isAll: true }]]))[0]?.group as Group;
  const cycle = of([fact(3, "c", { type: "workload.quota_reserved" }), fact(2, "c"), fact(1, "c", { stream: "workload/a/2" })]);
  expect([groupWords(cycle), groupDetail(cycle), cycle.objects]).toEqual(["Scheduling cycle", "2 Pending reason updated, 1 Quota reserved", 2]);
  const ended = [4, 3].map((position) => fact(position, "c", { type: "workload.finished", data: { reason: "Failed" } }));
  expect(groupDetail(of(ended))).toBe("2 Failed");
  expect(groupWords(of([4, 3].map((position) => fact(position, "c", { actor: "user:ana", causation: "batch:1" }))))).toBe("Bulk action");
  expect(groupWords(of([4, 3].map((position) => fact(position, "c", { actor: "user:ana" }))))).toBe("Request");
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
