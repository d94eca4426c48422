import { expect, test } from "vitest";

import { drainPreviewOf } from "./drain-preview";

const page = (count: number, next?: string) => ({
  items: Array.from({ length: count }, (_, number) => ({ metadata: { namespace: "a", name: `w${number}` } })),
  metadata: { continue: next },
});

test("workloads that a drain would evict are counted and named", () => {
  expect(drainPreviewOf(page(2))).toEqual({ heading: "2 workloads would be evicted", names: ["a/w0", "a/w1"] });
  expect(drainPreviewOf(page(1)).heading).toBe("1 workload would be evicted");
});

test("a drain without evictions is stated, and so is that more would be evicted than are named", () => {
  expect(drainPreviewOf(page(0)).heading).toMatch("No admitted workloads");
  expect(drainPreviewOf(page(3, "more")).heading).toBe("More than 3 workloads would be evicted");
  expect(drainPreviewOf(undefined).names).toEqual([]);
});
