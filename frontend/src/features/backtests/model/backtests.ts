// Backtests in words and figures.
import type { Tone } from "@/components/ui/badge";
import type { Backtest, BacktestResult, SimulationRecord } from "@/lib/api/types";
import { formatDuration } from "@/lib/format/times";
import { boundsOf, rangeWords, type TimeRange } from "@/lib/time-range";

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

const MAX_NAMED = 2;

const TONES: Record<State, Tone> = { Waiting: "wait", Running: "run", Done: "good", Failed: "bad", Cancelled: "idle" };

/** Whether the job is not finished. */
export function isUnfinished({ state }: { state: State }): boolean {
  return state === "Waiting" || state === "Running";
}

/** The tone of a state. */
export function stateTone(state: State): Tone {
  return TONES[state];
}

/** The time range that is replayed. */
export function rangeWordsOf({ beginAt, endAt }: Pick<Backtest, "beginAt" | "endAt">): string {
  return rangeWords({ last: "", from: beginAt, to: endAt });
}

/** The overridden objects. */
export function changeWords({ changes }: Pick<Backtest, "changes">): string {
  return changes === undefined || changes.length === 0 ? "Current configuration and rules" : changes.join(", ");
}

type Subject = Pick<SimulationRecord, "kind" | "title" | "changes" | "delete" | "priority" | "cordon">;

/** What was simulated: its title, or what it changes, deletes and cordons; without the kind where all are workloads. */
export function subjectWords(record: Subject): string {
  const { kind, title = "", changes = [] } = record;
  if (title !== "") return title;
  const others = otherChanges(record);
  const all = [...changes.filter((stream) => !others.has(stream)), ...others.values()];
  const names = kind === "Workload" ? all.map((one) => one.replace("workload/", "")) : all;
  if (names.length > MAX_NAMED) return `${names.slice(0, MAX_NAMED).join(", ")} and ${names.length - MAX_NAMED} more`;
  return changeWords({ changes: names });
}

/** The changes beside the manifests in words, by the stream that each is about. */
function otherChanges({ delete: deleted = "", priority = "", cordon = "" }: Subject): Map<string, string> {
  const listed = (text: string) => text.split(",").map((one) => one.trim()).filter(Boolean);
  return new Map([
    ...listed(deleted).map((stream): [string, string] => [stream, `Delete ${stream}`]),
    ...listed(cordon).map((node): [string, string] => [`node/${node}`, `Cordon ${node}`]),
    ...listed(priority).map((one): [string, string] => [`workload/${one.split(":")[0] ?? ""}`, `Priority of ${one.replace(":", ": ")}`]),
  ]);
}

/** The page of a simulation. */
export function simulationAddress({ id }: Pick<SimulationRecord, "id">): string {
  return `/simulations/${encodeURIComponent(id)}`;
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

/** The instants of evenly spaced values over the replayed time range, in seconds since 1970. */
export function instantsOf({ beginAt, endAt }: Pick<Backtest, "beginAt" | "endAt">, count: number): number[] {
  const [begin, end] = [Date.parse(beginAt) / 1000, Date.parse(endAt) / 1000];
  return Array.from({ length: count }, (_, index) => begin + ((end - begin) * index) / Math.max(1, count - 1));
}

/** What is replayed: the range of the page, one that ends now, or the whole log. */
export function replayedRange(chosen: string, page: TimeRange, now: number): { from: string; to: string } {
  if (chosen === "all") return { from: "1", to: "" };
  const range = chosen === "page" ? page : { last: chosen, from: "", to: "" };
  const [begin, end] = boundsOf(range, now);
  return { from: new Date(begin).toISOString(), to: range.last === "" ? new Date(end).toISOString() : "" };
}
