// The figures of a cycle in words.
import type { Cycle } from "@/lib/api/types";

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
  conflicts: number;
  heads: number;
  decisions: number;
  slowest: number;
}

/** The figures of many cycles together. */
export function figuresOf(cycles: Cycle[]): Figures {
  return {
    count: cycles.length,
    conflicts: cycles.filter((cycle) => cycle.outcome === "Conflict").length,
    heads: sum(cycles.map((cycle) => cycle.heads)),
    decisions: sum(cycles.map((cycle) => (cycle.outcome === "Committed" ? cycle.decisions : 0))),
    slowest: Math.max(0, ...cycles.map((cycle) => cycle.planningMicroseconds + cycle.commitMicroseconds)),
  };
}

function sum(numbers: number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
