import { expect, test } from "vitest";

import { backoffMilliseconds } from "./connection";

test("the pause between attempts doubles and never exceeds fifteen seconds", () => {
  expect(backoffMilliseconds(0, 1)).toBe(500);
  expect(backoffMilliseconds(3, 1)).toBe(4000);
  expect(backoffMilliseconds(40, 1)).toBe(15_000);
});

test("chance keeps browsers from coming back all at once, and never below half the pause", () => {
  expect(backoffMilliseconds(1, 0)).toBe(500);
  expect(backoffMilliseconds(1, 0.5)).toBe(750);
});
