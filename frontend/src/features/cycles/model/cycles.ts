// The figures of cycles in words, and their course over time.
import type { Cycle, CycleSummary } from "@/lib/api/types";

const SECONDS_PER_MINUTE = 60;

/** Microseconds as a person reads them: "1.2 ms", "235 ms", "3.4 s". */
export function durationWords(microseconds: number): string {
  if (microseconds < 1_000) return `${microseconds} µs`;
  if (microseconds < 1_000_000) return `${(microseconds / 1_000).toFixed(microseconds < 10_000 ? 1 : 0)} ms`;
  return `${(microseconds / 1_000_000).toFixed(1)} s`;
}

const PLAINER: Record<string, string> = {
  "something has moved the guard of the partition": "its input changed",
};

/** What came of it, in one phrase. */
export function outcomeWords(cycle: Cycle): string {
  const { conflict } = cycle;
  if (cycle.outcome === "Conflict") return `Planned again: ${PLAINER[conflict] ?? conflict}`;
  return `${cycle.decisions} ${cycle.decisions === 1 ? "decision" : "decisions"}`;
}

/** Scheduling cycles a minute over the range of a summary, from its oldest record on; undefined without length. */
export function perMinute({ total, since, until, dataSince }: CycleSummary): number | undefined {
  const from = Math.max(Date.parse(since), Date.parse(dataSince ?? since));
  const seconds = (Date.parse(until) - from) / 1000;
  return seconds > 0 ? (total.cycles * SECONDS_PER_MINUTE) / seconds : undefined;
}

export interface Course {
  /** Seconds since 1970, ascending. */
  times: number[];
  /** Microseconds; null where no cycle ran. */
  p50: (number | null)[];
  p95: (number | null)[];
  commit: (number | null)[];
  heads: number[];
}

/** Durations and evaluations over time; times without cycles between two that had some are told as such. */
export function courseOf({ points, stepSeconds }: Pick<CycleSummary, "points" | "stepSeconds">): Course {
  const known = new Map(points.map((point) => [Date.parse(point.at) / 1000, point]));
  const times = [...known.keys()].flatMap((at, index, all) => {
    const last = all[index - 1];
    const gaps = last === undefined || at - last <= stepSeconds ? [] : [...new Set([last + stepSeconds, at - stepSeconds])];
    return [...gaps, at];
  });
  return {
    times,
    p50: times.map((at) => known.get(at)?.p50Microseconds ?? null),
    p95: times.map((at) => known.get(at)?.p95Microseconds ?? null),
    commit: times.map((at) => known.get(at)?.commitP95Microseconds ?? null),
    heads: times.map((at) => known.get(at)?.heads ?? 0),
  };
}
