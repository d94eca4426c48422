import { expect, it } from "vitest";

import { groupsOf, listAddress, unnamedWords } from "./uses";

const objects = [
  { kind: "LocalQueue", namespace: "team-a", name: "main" },
  { kind: "LocalQueue", namespace: "team-b", name: "main" },
  { kind: "Cohort", name: "research" },
];

it("groups users by kind, each with its own page", () => {
  expect(groupsOf({ objects }).map(({ kind, users }) => [kind, users.map(({ name }) => name)])).toEqual([
    ["LocalQueue", ["team-a/main", "team-b/main"]],
    ["Cohort", ["research"]],
  ]);
  expect(groupsOf({ objects })[0]?.users[0]?.address).toBe("/configuration/LocalQueue/team-a/main");
  expect(unnamedWords({ objects, objectCount: 5 })).toBe("2 more objects");
  expect(unnamedWords({ objects, objectCount: 3 })).toBe("");
});

it("leads to the workloads of queues", () => {
  expect(listAddress("ClusterQueue", "vision")).toBe("/workloads?filter=clusterQueue%3A%3Dvision");
  expect(listAddress("LocalQueue", "team-a/main")).toBe("/workloads?filter=namespace%3A%3Dteam-a+queue%3A%3Dmain");
  expect(listAddress("Topology", "racks")).toBeUndefined();
});
