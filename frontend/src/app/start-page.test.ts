import { expect, test } from "vitest";

import { START_PAGES, startOf, startPath } from "./start-page";

test("the overview is the start page unless another one was chosen", () => {
  expect([startOf(null), startOf("nonsense"), startOf("mine")]).toEqual(["overview", "overview", "mine"]);
  expect(START_PAGES.map(({ key }) => startPath(key))).toEqual(["/", "/workloads?filter=owner:me", "/needs-attention"]);
});
