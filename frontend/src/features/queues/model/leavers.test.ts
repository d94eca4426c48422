import { expect, test } from "vitest";

import { leaversOf } from "./leavers";

const page = (count: number, next?: string) => ({
  items: Array.from({ length: count }, (_, number) => ({ metadata: { namespace: "a", name: `w${number}` } })),
  metadata: { continue: next },
});

test("who would be evicted is counted and named", () => {
  expect(leaversOf(page(2))).toEqual({ heading: "2 workloads would be evicted", names: ["a/w0", "a/w1"] });
  expect(leaversOf(page(1)).heading).toBe("1 workload would be evicted");
});

test("that nobody would be evicted is said, and that there are more than are named", () => {
  expect(leaversOf(page(0)).heading).toMatch("Nobody");
  expect(leaversOf(page(3, "more")).heading).toBe("More than 3 workloads would be evicted");
  expect(leaversOf(undefined).names).toEqual([]);
});
