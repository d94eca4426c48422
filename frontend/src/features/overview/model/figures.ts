// Figures of the overview from what the API tells.
import type { CapacityPoint, Causes, CycleSummary, QueueRow, QueueSummary, SystemStatus, WaitTimes } from "@/lib/api/types";
import { formatDuration, formatSpan, secondsBetween } from "@/lib/format/times";

const LATE_SECONDS = 10;
const DAY_SECONDS = 86_400;
/** With fewer days of log, the last one is most of what it would be compared with. */
const MIN_DAYS = 2;
const MINUS = "\u2212";

/** How the number of pending workloads changed from the first point to the last: "+22 in 24 h"; undefined of one point. */
export function pendingChange(points: readonly CapacityPoint[]): string | undefined {
  const [first, last] = [points[0], points.at(-1)];
  if (first === undefined || last === undefined || first === last) return undefined;
  const pendingIn = ({ queues }: CapacityPoint) => queues.reduce((sum, { pendingWorkloads }) => sum + pendingWorkloads, 0);
  const change = pendingIn(last) - pendingIn(first);
  const span = formatSpan(secondsBetween(first.at, last.at));
  return change === 0 ? `as ${span} ago` : `${signed(change, (amount) => amount.toLocaleString("en"))} in ${span}`;
}

/** The wait of the last day beside that of the last week: "+8 m vs 7 d"; undefined while the log is too young to tell. */
export function waitChange({ waitP95Seconds: day }: Pick<QueueSummary, "waitP95Seconds">, week: WaitTimes): string | undefined {
  const days = week.dataSince ? Math.floor(secondsBetween(week.dataSince > week.since ? week.dataSince : week.since, week.until) / DAY_SECONDS) : 0;
  const before = week.waitP95Seconds;
  if (days < MIN_DAYS || typeof day !== "number" || typeof before !== "number") return undefined;
  return day === before ? `as in ${days} d` : `${signed(day - before, formatDuration)} vs ${days} d`;
}

function signed(change: number, words: (amount: number) => string): string {
  return `${change > 0 ? "+" : MINUS}${words(Math.abs(change))}`;
}

/** Workloads that can never start as things are, and what their wait has cost. */
export function unschedulableOf({ causes }: Causes): { count: number; gpuSeconds: number } {
  const never = causes.filter(({ kind }) => kind === "NeverStarts");
  return {
    count: never.reduce((sum, cause) => sum + cause.count, 0),
    gpuSeconds: never.reduce((sum, cause) => sum + cause.gpuSeconds, 0),
  };
}

/** Whether workers decide and reads are fresh, in a word, and which executors run what is decided. */
export function schedulingOf({ partitions, headLagSeconds, executors, executorsConnected }: SystemStatus): { words: string; detail: string } {
  const halted = partitions.filter(({ halted }) => halted).length;
  const lag = `lag ${headLagSeconds < 1 ? `${headLagSeconds.toFixed(1)} s` : formatDuration(headLagSeconds)}`;
  const detail = `executors ${executorsConnected} of ${executors}, ${lag}`;
  if (halted > 0) return { words: `${halted} ${halted === 1 ? "partition" : "partitions"} halted`, detail };
  return { words: headLagSeconds > LATE_SECONDS ? "Behind" : "ok", detail };
}

/** How long 95 of 100 cycles took at most: "cycle p95 240 ms"; empty of none. */
export function cycleWords({ total }: Pick<CycleSummary, "total">): string {
  if (total.plans === 0) return "";
  const milliseconds = total.p95Microseconds / 1000;
  return `cycle p95 ${milliseconds < 10 ? milliseconds.toFixed(1) : Math.round(milliseconds).toLocaleString("en")} ms`;
}

const SHOWN_QUEUES = 6;

/** The queues with the most nominal quota by name, and how many others there are; one alone where the page is filtered by it. */
export function largestQueues(rows: readonly QueueRow[], queue: string): { shown: QueueRow[]; more: number } {
  if (queue !== "") return { shown: rows.filter(({ clusterQueue }) => clusterQueue === queue), more: 0 };
  const largest = [...rows].sort((one, other) => other.nominal - one.nominal || one.clusterQueue.localeCompare(other.clusterQueue, "en", { numeric: true })).slice(0, SHOWN_QUEUES);
  return { shown: rows.filter((row) => largest.includes(row)), more: rows.length - largest.length };
}
