// The figures of cycles in words, and their durations over time.
import type { Cycle } from "@/lib/api/types";

const SECONDS_PER_MINUTE = 60;

/** Microseconds as a person reads them: "1.2 ms", "3.4 s". */
export function durationWords(microseconds: number): string {
  if (microseconds < 1_000) return `${microseconds} µs`;
  if (microseconds < 1_000_000) return `${(microseconds / 1_000).toFixed(1)} ms`;
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

export interface Figures {
  count: number;
  /** Undefined where the cycles span no time. */
  perMinute: number | undefined;
  median: number;
  p95: number;
  slowest: number;
  conflicts: number;
  heads: number;
  decisions: number;
}

/** The figures of many cycles together; durations are of planning and commit, in microseconds. */
export function figuresOf(cycles: Cycle[]): Figures {
  const durations = cycles.map((cycle) => cycle.planningMicroseconds + cycle.commitMicroseconds).sort((one, other) => one - other);
  const instants = cycles.map((cycle) => Date.parse(cycle.at) / 1000);
  const seconds = Math.max(...instants) - Math.min(...instants);
  return {
    count: cycles.length,
    perMinute: seconds > 0 ? ((cycles.length - 1) * SECONDS_PER_MINUTE) / seconds : undefined,
    median: rankOf(durations, 0.5),
    p95: rankOf(durations, 0.95),
    slowest: durations.at(-1) ?? 0,
    conflicts: cycles.filter((cycle) => cycle.outcome === "Conflict").length,
    heads: sum(cycles.map((cycle) => cycle.heads)),
    decisions: sum(cycles.map((cycle) => (cycle.outcome === "Committed" ? cycle.decisions : 0))),
  };
}

/** The least value that a share of all values does not exceed. */
function rankOf(ascending: number[], share: number): number {
  return ascending[Math.max(0, Math.ceil(ascending.length * share) - 1)] ?? 0;
}

function sum(numbers: number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}

export interface Durations {
  /** Seconds since 1970, ascending. */
  times: number[];
  planning: number[];
  commit: number[];
  /** Cycles that met a conflict, the oldest first. */
  conflicts: Cycle[];
}

/** Durations over time, from cycles of which the newest is first. */
export function durationsOf(cycles: Cycle[]): Durations {
  const oldestFirst = [...cycles].reverse();
  const ascending = oldestFirst.filter((cycle, index) => index === 0 || Date.parse(cycle.at) > Date.parse(oldestFirst[index - 1]?.at ?? ""));
  return {
    times: ascending.map((cycle) => Date.parse(cycle.at) / 1000),
    planning: ascending.map((cycle) => cycle.planningMicroseconds),
    commit: ascending.map((cycle) => cycle.commitMicroseconds),
    conflicts: oldestFirst.filter((cycle) => cycle.outcome === "Conflict"),
  };
}
