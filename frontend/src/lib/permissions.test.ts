import { expect, test } from "vitest";

import type { Identity } from "@/lib/api/types";

import { refusalFor } from "./permissions";

const submitter: Identity = { name: "ana", role: "submitter", namespaces: ["team-a"] };

test("an admin may do everything", () => {
  expect(refusalFor({ name: "root", role: "admin", namespaces: [] }, { on: "node" })).toBeUndefined();
});

test("a submitter may act on workloads of their own namespaces only", () => {
  expect(refusalFor(submitter, { on: "workload", namespace: "team-a" })).toBeUndefined();
  expect(refusalFor(submitter, { on: "workload", namespace: "team-b" })).toContain("not in team-b");
});

test("a viewer is told which role is needed", () => {
  const viewer: Identity = { name: "eve", role: "viewer", namespaces: [] };
  expect(refusalFor(viewer, { on: "queue" })).toBe("Needs the role admin; you are viewer.");
  expect(refusalFor(viewer, { on: "workload", namespace: "team-a" })).toContain("submitter or admin");
});

test("nothing is allowed before the server has named the user", () => {
  expect(refusalFor(undefined, { on: "queue" })).toBeDefined();
});
