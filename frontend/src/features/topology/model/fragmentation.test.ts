import { expect, test } from "vitest";

import type { FragmentationPoint, LevelFit } from "@/lib/api/types";

import { linesOf, measurementWords } from "./fragmentation";

function fit(level: string, largest: number, together: number): LevelFit {
  const fragmentation = together === 0 ? 0 : Math.floor((1000 * (together - largest)) / together);
  return { flavor: "gpu", level, domains: 2, withRoom: 2, largest, domain: [], together, fragmentation };
}

const POINTS: FragmentationPoint[] = [
  { at: "2026-09-24T12:00:00Z", position: 0, fits: [] },
  { at: "2026-09-24T13:00:00Z", position: 5, fits: [fit("rack", 4, 8)] },
  { at: "2026-09-24T14:00:00Z", position: 9, fits: [fit("rack", 3, 4), fit("host", 0, 0)] },
];

test("every level has a line through all instants", () => {
  const [rack, host] = linesOf(POINTS);
  expect([rack?.level, host?.level]).toEqual(["rack", "host"]);
  expect(rack?.measurements.map((look) => [look.fit?.largest, look.fit?.together])).toEqual([
    [undefined, undefined],
    [4, 8],
    [3, 4],
  ]);
  expect(host?.measurements.map(measurementWords)).toEqual(["no hosts", "no hosts", "nothing fits"]);
});

test("an instant is told with what lay together and what was scattered", () => {
  const measurements = linesOf(POINTS)[0]?.measurements ?? [];
  expect(measurements.map(measurementWords)).toEqual(["no hosts", "Largest gang 4 of 8 pods · 50% fragmented", "Largest gang 3 of 4 pods · 25% fragmented"]);
});
