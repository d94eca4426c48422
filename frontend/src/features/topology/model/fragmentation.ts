// How the largest gang of each level, and the room around it, went over time.
import type { FragmentationPoint, LevelFit } from "@/lib/api/types";

/** One level of a flavor over time: what fitted at each instant, nothing where there were no hosts. */
export interface LevelLine {
  flavor: string;
  level: string;
  measurements: Measurement[];
}

export interface Measurement {
  at: string;
  fit: LevelFit | undefined;
}

/** A line for every level that ever had hosts, in the order of the last sample. */
export function linesOf(points: FragmentationPoint[]): LevelLine[] {
  const known = new Map<string, LevelFit>();
  for (const point of points.toReversed()) for (const fit of point.fits) if (!known.has(nameOf(fit))) known.set(nameOf(fit), fit);
  return [...known].map(([name, { flavor, level }]) => {
    const measurements = points.map(({ at, fits }) => ({ at, fit: fits.find((fit) => nameOf(fit) === name) }));
    return { flavor, level, measurements };
  });
}

/** "Largest gang 3 of 8 pods · 63% fragmented" */
export function measurementWords({ fit }: Measurement): string {
  if (fit === undefined) return "no hosts";
  if (fit.together === 0) return "nothing fits";
  return `Largest gang ${fit.largest} of ${fit.together} pods · ${Math.round(fit.fragmentation / 10)}% fragmented`;
}

function nameOf(fit: LevelFit): string {
  return `${fit.flavor} ${fit.level}`;
}
