import { expect, test } from "vitest";

import { estimateWords, placeOf, waitBars } from "./waits";

const BOUNDS = [0, 1, 60, 3_600, 14_400, 86_400];
const bucketsOf = (...counts: number[]) => BOUNDS.map((fromSeconds, index) => ({ fromSeconds, count: counts[index] ?? 0 }));

test("the bars end with the longest wait, and each says its length", () => {
  expect(waitBars(bucketsOf(0, 2, 0, 0, 1)).map(({ words, count }) => [words, count])).toEqual([
    ["under 1 s", 0],
    ["1 s to 1 m", 2],
    ["1 m to 1 h", 0],
    ["1 h to 4 h", 0],
    ["4 h to 1 d", 1],
  ]);
  expect(waitBars(bucketsOf(0, 0, 0, 0, 0, 1)).at(-1)?.words).toBe("1 d or more");
  expect(waitBars(bucketsOf(3)), "a single bar is no scale").toHaveLength(4);
});

test("a wait stands within its bar, by how far it is from the bar's beginning", () => {
  const bars = waitBars(bucketsOf(1, 1, 1, 1));
  expect(placeOf(0, bars)).toBe(0);
  expect(placeOf(1_830, bars)).toBe(62.5);
  const open = waitBars(bucketsOf(0, 0, 0, 0, 0, 1));
  expect(placeOf(1_000_000, open)).toBeCloseTo(100 * (5.5 / 6));
});

test("the share of estimates that held is told where there were some", () => {
  expect(estimateWords({ estimates: { predictions: 214, held: 173 } })).toBe("173 of 214 starts fell inside the estimated range: 81% (aim 80%).");
  expect(estimateWords({ estimates: { predictions: 1, held: 1 } })).toBe("1 of 1 start fell inside the estimated range: 100% (aim 80%).");
  expect(estimateWords({ estimates: { predictions: 0, held: 0 } })).toBe("");
  expect(estimateWords({ estimates: null })).toBe("");
});
