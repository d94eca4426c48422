import { expect, test } from "vitest";

import type { Identity } from "@/lib/api/types";

import { DESTINATIONS, firstPages, isFolded, isHere } from "./navigation";

function seenBy(role: Identity["role"]): string[] {
  const identity = { name: "ana", role, namespaces: [] };
  return DESTINATIONS.filter((page) => !isFolded(page, identity)).map(({ words }) => words);
}

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
  expect(here("/backtests/b1")).toEqual(["Simulations"]);
  expect(here("/what-if")).toEqual(["Simulations"]);
});

test("no key leads to two pages", () => {
  expect(new Set(DESTINATIONS.map(({ key }) => key)).size).toBe(DESTINATIONS.length);
});

test("three pages are at hand on a narrow screen, the first by role", () => {
  const wordsOf = (role: Identity["role"]) => firstPages({ name: "ana", role, namespaces: [] }).map(({ words }) => words);
  expect(wordsOf("submitter")).toEqual(["My work", "Workloads", "Needs attention"]);
  expect(wordsOf("admin")).toEqual(["Overview", "Workloads", "Needs attention"]);
});
