import { expect, test } from "vitest";

import { extendedBy, inHeldOrder, isBehind, placesOf } from "./held-order";

const held = { asked: "sort=-gpu", keys: ["a", "b", "c"], at: 7 };

test("an order is held, and what comes later stands behind it", () => {
  expect(extendedBy(null, held)).toBe(held);
  expect(extendedBy(held, { ...held, keys: ["c", "a"], at: 9 })).toBe(held);
  expect(extendedBy(held, { ...held, keys: ["d", "c", "a", "b"], at: 9 })).toEqual({ ...held, keys: ["a", "b", "c", "d"] });
});

test("it is behind where the keys that are left stand in another order", () => {
  expect(isBehind(held, ["a", "c"])).toBe(false);
  expect(isBehind(held, ["b", "a", "c"])).toBe(true);
  expect(isBehind({ ...held, keys: ["a", "b", "d"] }, ["d", "a", "b"])).toBe(true);
});

test("items stand as it is held", () => {
  const places = placesOf(held);
  expect(inHeldOrder(["c", "x", "b", "a"], (item) => item, places)).toEqual(["a", "b", "c", "x"]);
  expect(inHeldOrder(["c", "a"], (item) => item, null)).toEqual(["c", "a"]);
});
