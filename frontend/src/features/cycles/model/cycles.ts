// The figures of cycles in words, their course over time, and what a cycle decided about each workload.
import type { Causes, Cycle, CycleSummary, Fact } from "@/lib/api/types";
import type { ChartMark } from "@/lib/marks";

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
  /** Microseconds of planning and of commit; null where no cycle ran. */
  planP50: (number | null)[];
  planP95: (number | null)[];
  commitP50: (number | null)[];
  commitP95: (number | null)[];
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
    planP50: times.map((at) => known.get(at)?.planningP50Microseconds ?? null),
    planP95: times.map((at) => known.get(at)?.planningP95Microseconds ?? null),
    commitP50: times.map((at) => known.get(at)?.commitP50Microseconds ?? null),
    commitP95: times.map((at) => known.get(at)?.commitP95Microseconds ?? null),
    heads: times.map((at) => known.get(at)?.heads ?? 0),
  };
}

/** Times in which plans were refused, each leading to the cycles of that time. */
export function conflictMarks({ points, stepSeconds }: Pick<CycleSummary, "points" | "stepSeconds">): ChartMark[] {
  return points
    .filter(({ conflicts }) => conflicts > 0)
    .map(({ at, conflicts }) => {
      const from = Date.parse(at);
      const range = new URLSearchParams({ from: new Date(from).toISOString(), to: new Date(from + stepSeconds * 1000).toISOString() });
      return { at: from / 1000, words: conflicts === 1 ? "1 conflict" : `${conflicts} conflicts`, address: `/cycles?${range}`, kind: "conflict" };
    });
}

/** What one cycle decided about a workload. */
export interface Decision {
  /** Its place among the evaluated workloads; undefined for a victim of preemption. */
  place: number | undefined;
  stream: string;
  /** The last event of the workload: later cycles of the same plan decide anew. */
  fact: Fact;
}

const VICTIM = new Set(["workload.evicted", "workload.pods_evicted", "workload.shrunk"]);

/** One decision for each workload, in the order of evaluation; victims of preemption are among them. */
export function decisionsOf(events: readonly Fact[]): Decision[] {
  const last = new Map<string, Fact>();
  for (const fact of events) if (fact.stream.startsWith("workload/")) last.set(fact.stream, fact);
  let place = 0;
  return [...last].map(([stream, fact]) => ({ place: VICTIM.has(fact.type) ? undefined : (place += 1), stream, fact }));
}

/** The alert that no worker plans though there is work, which is told after half a minute. */
export function stalledCause({ causes }: Pick<Causes, "causes">): Causes["causes"][number] | undefined {
  return causes.find(({ kind }) => kind === "SchedulingStalled");
}
