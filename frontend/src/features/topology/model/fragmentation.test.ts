import { expect, test } from "vitest";

import type { FragmentationPoint, LevelFit } from "@/lib/api/types";

import { linesOf, measurementWords, minutesBefore, rangeOf, worstOf } from "./fragmentation";

function fit(level: string, largest: number, together: number): LevelFit {
  const fragmentation = together === 0 ? 0 : Math.floor((1000 * (together - largest)) / together);
  return { flavor: "gpu", level, domains: 2, withRoom: 2, largest, domain: [], together, fragmentation };
}

const POINTS: FragmentationPoint[] = [
  { at: "2026-09-24T12:00:00Z", position: 0, fits: [] },
  { at: "2026-09-24T13:00:00Z", position: 5, fits: [fit("rack", 4, 8)] },
  { at: "2026-09-24T14:00:00Z", position: 9, fits: [fit("rack", 3, 4), fit("host", 0, 0)] },
];

test("every level has a line through all instants, against the most that ever fitted", () => {
  const [rack, host] = linesOf(POINTS);
  expect([rack?.level, rack?.peak, host?.level]).toEqual(["rack", 8, "host"]);
  expect(rack?.measurements.map((look) => [look.largest, look.together])).toEqual([
    [0, 0],
    [0.5, 1],
    [0.375, 0.5],
  ]);
  expect(host?.measurements.map(measurementWords)).toEqual(["no hosts", "no hosts", "nothing fits"]);
});

test("an instant is told with what lay together and what was scattered", () => {
  const measurements = linesOf(POINTS)[0]?.measurements ?? [];
  expect(measurements.map(measurementWords)).toEqual(["no hosts", "Largest gang 4 of 8 pods · 50% fragmented", "Largest gang 3 of 4 pods · 25% fragmented"]);
  expect(worstOf(measurements)?.at).toBe("2026-09-24T13:00:00Z");
  expect(worstOf([])).toBeUndefined();
});

test("one question serves for a minute", () => {
  expect(minutesBefore("2026-09-24T12:00:59.123456Z", 60)).toBe("2026-09-24T11:00:00.000Z");
  expect(minutesBefore("2026-09-24T12:00:01Z", 60)).toBe("2026-09-24T11:00:00.000Z");
});

test("a range that is not offered is the usual one", () => {
  expect(rangeOf("60")).toBe("60");
  expect(rangeOf("7")).toBe("1440");
});
