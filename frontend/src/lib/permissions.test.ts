import { expect, test } from "vitest";

import type { Identity } from "@/lib/api/types";

import { refusalFor } from "./permissions";

function user(...grants: NonNullable<Identity["grants"]>): Identity {
  return { name: "ana", role: grants[0]?.role ?? "viewer", namespaces: [], grants };
}

const submitter = user({ role: "submitter", namespaces: ["team-a"] });

test("an admin may do everything", () => {
  expect(refusalFor(user({ role: "admin" }), { on: "node" })).toBeUndefined();
});

test("a submitter may act on workloads of their own namespaces only", () => {
  expect(refusalFor(submitter, { on: "workload", namespace: "team-a" })).toBeUndefined();
  expect(refusalFor(submitter, { on: "workload", namespace: "team-b" })).toContain("not in team-b");
});

test("a viewer is told which role is needed", () => {
  const viewer = user({ role: "viewer" });
  expect(refusalFor(viewer, { on: "queue" })).toBe("Needs the role admin; you are viewer.");
  expect(refusalFor(viewer, { on: "workload", namespace: "team-a" })).toContain("submitter or admin");
});

test("nothing is allowed before the server has named the user", () => {
  expect(refusalFor(undefined, { on: "queue" })).toBeDefined();
});

test("a queue administrator acts on the named queues and on workloads, not on other queues", () => {
  const admin = user({ role: "viewer", namespaces: ["team-a"] }, { role: "queue-admin", clusterQueues: ["gpu"] });
  expect(refusalFor(admin, { on: "queue", clusterQueue: "gpu" })).toBeUndefined();
  expect(refusalFor(admin, { on: "queue", clusterQueue: "cpu" })).toBe("Needs the role admin, or queue-admin of cpu; you are viewer, queue-admin.");
  expect(refusalFor(admin, { on: "queue" })).toContain("Needs the role admin");
  expect(refusalFor(admin, { on: "workload", namespace: "team-b" })).toBeUndefined();
});
