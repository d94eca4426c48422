// What a chart over time computes: sums of stacked values, labels of instants, the rows of its table.
import { inZone } from "@/lib/format/zone";

const DAY = 86_400;
const SECONDS_TOLD = 600;
/** The share of the axis that is too narrow for words. */
const NARROW = 0.12;

/** The sum of each series with all before it; what is unknown counts nothing. */
export function stackedOf(series: (number | null)[][]): number[][] {
  const sums: number[][] = [];
  for (const values of series) {
    const below = sums.at(-1);
    sums.push(values.map((value, index) => (value ?? 0) + (below?.[index] ?? 0)));
  }
  return sums;
}

/** The label of an instant on an axis: the day where the range is longer than two days, else the time, to the second in a short range. */
export function clockOf(at: number, [from, to]: readonly [number, number]): string {
  const instant = new Date(at * 1000);
  if (to - from > 2 * DAY) return inZone(instant, { day: "numeric", month: "short" });
  const seconds = to - from < SECONDS_TOLD ? ({ second: "2-digit" } as const) : {};
  return inZone(instant, { hour: "2-digit", minute: "2-digit", ...seconds });
}

/** An instant in a table: day and time of day. */
export function tableTime(at: number): string {
  return inZone(new Date(at * 1000), { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });
}

/** Whether the axis begins about where the log does, so that no area before it could say so. */
export function beginsWithLog([from, to]: readonly [number, number], dataSince: number | undefined): boolean {
  return dataSince !== undefined && dataSince >= from && dataSince - from < NARROW * (to - from);
}

/** The middle of each stacked area at its last value, from the top of the plot, as a share of its height. */
export function middlesOf(stacked: readonly number[][], max: number): number[] {
  return stacked.map((sums, index) => {
    const [top, below] = [sums.at(-1) ?? 0, stacked[index - 1]?.at(-1) ?? 0];
    return max > 0 ? 1 - (top + below) / 2 / max : 1;
  });
}

/** Places moved as little as a list from top to bottom allows, with a gap between neighbors; all within 0 and 1. */
export function spread(places: readonly number[], gap: number): number[] {
  const order = places.map((_, index) => index).sort((one, other) => (places[one] ?? 0) - (places[other] ?? 0) || other - one);
  const found = [...places];
  let least = 0;
  for (const index of order) {
    found[index] = Math.max(least, found[index] ?? 0);
    least = (found[index] ?? 0) + gap;
  }
  let most = 1;
  for (const index of order.reverse()) {
    found[index] = Math.max(0, Math.min(most, found[index] ?? 0));
    most = (found[index] ?? 0) - gap;
  }
  return found;
}

/** The area at a height: the first of the stacked sums that reaches it; undefined above all. */
export function areaAt(stacked: readonly number[][], index: number, value: number): number | undefined {
  const found = stacked.findIndex((sums) => value >= 0 && (sums[index] ?? 0) >= value);
  return found < 0 ? undefined : found;
}

/** The indices of at most so many values at equal distances, the last always among them. */
export function everyNth(values: readonly unknown[], most: number): number[] {
  const step = Math.max(1, Math.ceil(values.length / most));
  return values.map((_, index) => index).filter((index) => (values.length - 1 - index) % step === 0);
}

/** The share of a range at an instant, in percent. */
export function percentOf([from, to]: readonly [number, number], at: number): number {
  return to > from ? Math.min(100, Math.max(0, (100 * (at - from)) / (to - from))) : 0;
}

/** Instants and rows of values, with the last values once more at an instant that is later. */
export function heldTo(to: number, times: number[], rows: (number | null)[][]): (number | null)[][] {
  const last = times.at(-1);
  if (last === undefined || last >= to) return [times, ...rows];
  return [[...times, to], ...rows.map((row) => [...row, row.at(-1) ?? null])];
}

/** A value in words; a dash where it is unknown. */
export function worded(value: number | null | undefined, format: (value: number) => string): string {
  return value === null || value === undefined ? "—" : format(value);
}
