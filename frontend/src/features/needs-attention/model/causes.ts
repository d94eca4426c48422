// Which causes are shown, and the words for their states.
import { quoted } from "@/lib/actions";
import type { Cause, Phase } from "@/lib/api/types";
import { configurationAddress } from "@/lib/events";

import type { BulkActionVerb } from "./stuck-workloads";

export type CauseState = Cause["state"] | "Closed";

export const CAUSE_STATES: CauseState[] = ["Open", "Acknowledged", "Snoozed", "Closed"];

/** The severities that a list can be narrowed to. */
export const SEVERITY_CHOICES = [
  { value: "", words: "all" },
  { value: "critical", words: "critical" },
  { value: "warning", words: "warning" },
  { value: "info", words: "note" },
] as const;

/** The severity to show as asked; empty for all. */
export function shownSeverity(asked: string): (typeof SEVERITY_CHOICES)[number]["value"] {
  return SEVERITY_CHOICES.find(({ value }) => value === asked)?.value ?? "";
}

/** Ends of a snooze, from an hour to a week. */
export const SNOOZES = [
  { value: "3600", words: "1 hour" },
  { value: "14400", words: "4 hours" },
  { value: "86400", words: "1 day" },
  { value: "604800", words: "1 week" },
] as const;

/** The state of the causes to show: as asked, or that of the cause the address opens. */
export function shownState(asked: string, opened: string, causes: readonly Cause[]): CauseState {
  const named = CAUSE_STATES.find((state) => state === asked);
  return named ?? causes.find(({ key }) => key === opened)?.state ?? "Open";
}

/** How many causes are in each state; `closed` have closed. */
export function countsByState(causes: readonly Cause[], closed: number): Record<CauseState, number> {
  const counts: Record<CauseState, number> = { Open: 0, Acknowledged: 0, Snoozed: 0, Closed: closed };
  for (const { state } of causes) counts[state] += 1;
  return counts;
}

/** How many objects a cause concerns: "1 workload", "18 workloads". */
export function countWords({ unit, count }: { unit: string; count: number }): string {
  const noun = unit.toLowerCase();
  return `${count.toLocaleString("en")} ${count === 1 ? noun : `${noun}s`}`;
}

/** The phases of stuck workloads, by the kind of their cause. */
export const STUCK_PHASES: Readonly<Record<string, Phase>> = { WorkloadInactive: "Inactive", WorkloadRetrying: "Retrying", WorkloadOnHold: "OnHold" };

const HELPS: Readonly<Record<string, { verb: BulkActionVerb; words: string }>> = {
  WorkloadInactive: { verb: "activate", words: "Activate" },
  WorkloadRetrying: { verb: "requeue", words: "Requeue" },
  WorkloadOnHold: { verb: "release", words: "Release" },
};

const SHOWS: Readonly<Record<string, { words: string; to?: string }>> = {
  NodeNotReady: { words: "Show hosts" },
  WorkloadsFailed: { words: "Show failed" },
  NotStarted: { words: "Show pods" },
  EvictionStalled: { words: "Show eviction" },
  QueueInactive: { words: "Show queue" },
  HeadOfLineBlocking: { words: "Show head" },
  NoExecutorConnected: { words: "Show executors", to: "/executors" },
  OrphanedPods: { words: "Show executors", to: "/executors" },
  Starvation: { words: "Show preemptions", to: "/preemptions" },
  Thrash: { words: "Show preemptions", to: "/preemptions" },
  PredictionMissed: { words: "Open policy lab" },
  SchedulingStalled: { words: "Show cycles", to: "/cycles" },
};

/** The one thing to do first about a cause: a bulk action on its workloads, or the page to look at. */
export type PrimaryAction = { words: string; verb: BulkActionVerb } | { words: string; to: string };

export function primaryAction({ kind, count, link, items }: Pick<Cause, "kind" | "count" | "link" | "items">): PrimaryAction {
  const number = count.toLocaleString("en");
  const helps = HELPS[kind];
  if (helps !== undefined) return { words: `${helps.words} ${number}`, verb: helps.verb };
  if (kind === "NeverStarts") return { words: `Review ${number}`, to: "/workloads?filter=phase:Unschedulable" };
  if (kind === "Configuration") return { words: "Fix", to: fixAddress(items) };
  const shows = SHOWS[kind] ?? { words: "Show events" };
  return { words: shows.words, to: shows.to ?? link };
}

/** Where the configured object is changed that comes first; the list of all without one. */
function fixAddress(items: Cause["items"]): string {
  const stream = items[0]?.stream ?? "";
  const cut = stream.indexOf("/");
  return cut < 1 ? "/configuration" : configurationAddress(stream.slice(0, cut), stream.slice(cut + 1));
}

/** The same as a command. */
export function acknowledgeCommand(key: string, reason: string, snoozeSeconds: number): string {
  const end = snoozeSeconds > 0 ? ` --for ${snoozeSeconds / 3600}h` : "";
  return `headgate acknowledge ${quoted(key)} --reason ${quoted(reason === "" ? "…" : reason)}${end}`;
}
