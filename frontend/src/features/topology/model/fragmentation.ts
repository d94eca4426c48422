// How the largest gang of each level, and the room around it, went over time.
import type { FragmentationPoint, LevelFit } from "@/lib/api/types";
import { shareOf } from "@/lib/format/amounts";

const MINUTE = 60_000;

/** The selectable periods in minutes, by label. */
export const RANGES = [
  { value: "60", words: "Last hour" },
  { value: "1440", words: "Last day" },
  { value: "10080", words: "Last week" },
];
export const USUAL_RANGE = "1440";

/** One level of a flavor over time: what fitted at each instant, nothing where there were no hosts. */
export interface LevelLine {
  flavor: string;
  level: string;
  peak: number;
  measurements: Measurement[];
}

export interface Measurement {
  at: string;
  fit: LevelFit | undefined;
  /** Of the most that ever fitted: what lay together in one domain, and all of it. */
  largest: number;
  together: number;
}

/** So many minutes before an instant, on the full minute so that one question serves for a minute. */
export function minutesBefore(at: string, minutes: number): string {
  const whole = Math.floor(Date.parse(at) / MINUTE);
  return new Date((whole - minutes) * MINUTE).toISOString();
}

/** The range a person chose, or the usual one. */
export function rangeOf(chosen: string): string {
  return RANGES.some((range) => range.value === chosen) ? chosen : USUAL_RANGE;
}

/** A line for every level that ever had hosts, in the order of the last sample. */
export function linesOf(points: FragmentationPoint[]): LevelLine[] {
  const known = new Map<string, LevelFit>();
  for (const point of points.toReversed()) for (const fit of point.fits) if (!known.has(nameOf(fit))) known.set(nameOf(fit), fit);
  return [...known].map(([name, { flavor, level }]) => {
    const fits = points.map((point) => point.fits.find((fit) => nameOf(fit) === name));
    const peak = Math.max(0, ...fits.map((fit) => fit?.together ?? 0));
    const measurements = points.map(({ at }, index) => measurementAt(at, fits[index], peak));
    return { flavor, level, peak, measurements };
  });
}

/** "3 of 8 pods together, 63% scattered" */
export function measurementWords({ fit }: Measurement): string {
  if (fit === undefined) return "no hosts";
  if (fit.together === 0) return "nothing fits";
  return `Largest gang ${fit.largest} of ${fit.together} pods · ${Math.round(fit.fragmentation / 10)}% fragmented`;
}

/** The sample with the highest fragmentation. */
export function worstOf(measurements: Measurement[]): Measurement | undefined {
  return measurements.reduce<Measurement | undefined>((worst, look) => ((look.fit?.fragmentation ?? 0) > (worst?.fit?.fragmentation ?? 0) ? look : worst), undefined);
}

function nameOf(fit: LevelFit): string {
  return `${fit.flavor} ${fit.level}`;
}

function measurementAt(at: string, fit: LevelFit | undefined, peak: number): Measurement {
  return { at, fit, largest: shareOf(fit?.largest ?? 0, peak), together: shareOf(fit?.together ?? 0, peak) };
}
