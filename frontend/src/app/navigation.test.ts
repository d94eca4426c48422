import { expect, test } from "vitest";

import type { Identity } from "@/lib/api/types";

import { DESTINATIONS, firstPages, isFolded, isHere } from "./navigation";

function seenBy(role: Identity["role"]): string[] {
  const identity = { name: "ana", role, namespaces: [] };
  return DESTINATIONS.filter((page) => !isFolded(page, identity)).map(({ words }) => words);
}

test("on call one sees what is broken, and what changes it is folded", () => {
  expect(seenBy("viewer")).toEqual(["Overview", "Needs attention", "Workloads", "Queues", "Topology", "Preemptions", "Event log", "Scheduling cycles", "Executors"]);
});

test("submitters see what they need, others what they do not submit with", () => {
  expect(seenBy("submitter")).toEqual(["My work", "Overview", "Workloads", "Queues", "Topology", "Submit"]);
  expect(seenBy("admin")).not.toContain("My work");
  expect(seenBy("admin")).toContain("Scheduling cycles");
});

test("one page is the current one", () => {
  const here = (path: string, search = "") => DESTINATIONS.filter((page) => isHere(page, path, search)).map(({ words }) => words);
  expect(here("/")).toEqual(["Overview"]);
  expect(here("/workloads", "?filter=owner%3Ame")).toEqual(["My work"]);
  expect(here("/workloads", "?filter=gpu%3A%3E8")).toEqual(["Workloads"]);
  expect(here("/workloads/team-a/train")).toEqual(["Workloads"]);
  expect(here("/simulations/s1")).toEqual(["Simulations"]);
  expect(here("/simulations/lab")).toEqual(["Policy lab"]);
  expect(here("/simulations/new")).toEqual(["Simulations"]);
  expect(here("/attention")).toEqual(["Needs attention"]);
});

test("no key leads to two pages", () => {
  expect(new Set(DESTINATIONS.map(({ key }) => key)).size).toBe(DESTINATIONS.length);
});

test("three pages are at hand on a narrow screen, the first is the start page", () => {
  const wordsOf = (start: string) => firstPages(start).map(({ words }) => words);
  expect(wordsOf("/workloads?filter=owner:me")).toEqual(["My work", "Workloads", "Needs attention"]);
  expect(wordsOf("/")).toEqual(["Overview", "Workloads", "Needs attention"]);
  expect(wordsOf("/attention")).toEqual(["Needs attention", "Workloads", "Overview"]);
});
