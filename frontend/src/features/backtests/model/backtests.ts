// Backtests in words and figures.
import type { Tone } from "@/components/ui/badge";
import type { Backtest, BacktestResult } from "@/lib/api/types";
import { formatDuration } from "@/lib/format/times";

type State = Backtest["state"];
export type Differing = BacktestResult["workloads"][number];
export type QueueOutcome = BacktestResult["queues"][number];

const DIFFERENCES: Record<Differing["what"][number], string> = {
  StartsEarlier: "starts earlier",
  StartsLater: "starts later",
  StartsOnlyInBacktest: "starts only in the backtest",
  DoesNotStart: "does not start in the backtest",
  PreemptedMore: "is preempted more often",
  PreemptedLess: "is preempted less often",
  PlacedElsewhere: "is placed elsewhere",
};

const TONES: Record<State, Tone> = { Waiting: "wait", Running: "run", Done: "good", Failed: "bad", Cancelled: "idle" };

/** Whether the job is not finished. */
export function isUnfinished({ state }: { state: State }): boolean {
  return state === "Waiting" || state === "Running";
}

/** The tone of a state. */
export function stateTone(state: State): Tone {
  return TONES[state];
}

/** The overridden objects. */
export function changeWords({ changes }: Pick<Backtest, "changes">): string {
  return changes === undefined || changes.length === 0 ? "no overrides (current scheduler rules)" : changes.join(", ");
}

/** All differences of a workload. */
export function differenceWords({ what }: Pick<Differing, "what">): string {
  return what.map((one) => DIFFERENCES[one]).join(", ");
}

/** A waiting time; below ten seconds with a tenth. */
export function waitWords(milliseconds: number): string {
  return milliseconds < 10_000 ? `${(milliseconds / 1000).toFixed(1)} s` : formatDuration(milliseconds / 1000);
}

/** How much later a workload starts than it did, in words; empty where one side does not start. */
export function shiftWords({ actual, backtest }: Pick<Differing, "actual" | "backtest">): string {
  if (!actual.startedAt || !backtest.startedAt) return "";
  const shift = Date.parse(backtest.startedAt) - Date.parse(actual.startedAt);
  if (Math.abs(shift) < 1000) return "";
  return `${waitWords(Math.abs(shift))} ${shift < 0 ? "earlier" : "later"}`;
}

/** A line through values as an SVG path in a box of 100 by 100, against a common peak. */
export function linePath(values: number[], peak: number): string {
  const step = 100 / Math.max(1, values.length - 1);
  const height = (value: number) => 100 - (peak === 0 ? 0 : (value / peak) * 100);
  return values.map((value, index) => `${index === 0 ? "M" : "L"}${(index * step).toFixed(2)} ${height(value).toFixed(2)}`).join(" ");
}
