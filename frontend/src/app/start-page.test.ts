import { expect, test } from "vitest";

import { START_PAGES, startOf, startPath } from "./start-page";

test("the start page is the chosen one, else that of the role", () => {
  expect(startOf("mine", { role: "admin" })).toBe("mine");
  expect([startOf(null, { role: "submitter" }), startOf("nonsense", { role: "admin" }), startOf(null, { role: "viewer" })]).toEqual(["mine", "overview", "attention"]);
  expect(startOf(null, undefined)).toBeUndefined();
  expect(START_PAGES.map(({ key }) => startPath(key))).toEqual(["/", "/workloads?filter=owner:me", "/attention"]);
});
