// Filters of stuck workloads, and the texts of causes, limits and bulk actions.
import { type ActionInput, quoted } from "@/lib/actions";
import type { Batch, BulkResult, StuckWorkload } from "@/lib/api/types";
import type { UrlState } from "@/lib/hooks/use-url";
import { formatDuration } from "@/lib/format/times";

export const BULK_ACTIONS = ["activate", "requeue", "release", "hold", "deactivate"] as const;
export type BulkActionVerb = (typeof BULK_ACTIONS)[number];

export const ACTION_WORDS: Record<BulkActionVerb, { verb: string; words: string; danger: boolean; expires: boolean }> = {
  activate: { verb: "Activate", words: "Returns each to its queue and resets the requeue count.", danger: false, expires: false },
  requeue: { verb: "Retry now", words: "Skips the backoff and retries now. The requeue count is kept.", danger: false, expires: false },
  release: { verb: "Release", words: "Removes the hold so that each can be admitted.", danger: false, expires: false },
  hold: { verb: "Hold", words: "Prevents admission until released.", danger: false, expires: true },
  deactivate: { verb: "Deactivate", words: "Removes each from the queue until activated. Running pods are stopped.", danger: true, expires: false },
};

const CAUSES: Record<string, string> = {
  Requested: "Manually deactivated",
  RequeuingLimitExceeded: "Requeue limit exceeded",
  RequeuingTimeExceeded: "Requeue timeout",
  MaximumExecutionTimeExceeded: "Max execution time exceeded",
  AdmissionCheck: "Admission check",
  TopologyRequestInvalid: "Invalid topology request",
  PodsReadyTimeout: "Pods not ready",
  SubmittedInactive: "Submitted inactive",
  OnHold: "On hold",
};

/** A cause in words. */
export function causeWords(cause: string): string {
  return CAUSES[cause] ?? cause;
}

export interface StuckFilters {
  cause: string;
  namespace: string;
  clusterQueue: string;
  name: string;
  /** Within so many hours. */
  since: string;
}

export const FILTER_NAMES = ["cause", "namespace", "clusterQueue", "name", "since"] as const;

/** All stuck workloads. */
export const NO_FILTERS: StuckFilters = { cause: "", namespace: "", clusterQueue: "", name: "", since: "" };

export const SINCE = [
  { value: "", words: "At any time" },
  { value: "1", words: "In the last hour" },
  { value: "24", words: "In the last day" },
  { value: "72", words: "In the last 3 days" },
  { value: "168", words: "In the last week" },
] as const;

/** The moment so many hours ago; nothing for any time. */
export function sinceAt(hours: string, now: number): string | undefined {
  const count = Number(hours);
  return count > 0 ? new Date(now - count * 3_600_000).toISOString() : undefined;
}

/** The filters in the address. */
export function filtersIn(url: UrlState): StuckFilters {
  return { cause: url.get("cause"), namespace: url.get("namespace"), clusterQueue: url.get("clusterQueue"), name: url.get("name"), since: url.get("since") };
}

/** How much of a limit is used: "3 of 3 requeues". */
export function limitWords(limit: NonNullable<StuckWorkload["limits"]>[number]): string {
  if (limit.field === "backoffLimitCount") return `${limit.used} of ${limit.maximum} requeues`;
  const maximum = formatDuration(limit.maximum);
  return limit.field === "maximumExecutionTimeSeconds" ? `ran ${formatDuration(limit.used)} of ${maximum}` : `retries for at most ${maximum}`;
}

/** The name by which a case is chosen and opened. */
export function keyOf(found: StuckWorkload): string {
  return found.workload;
}

/** The heading of a preview: eligible workloads of all. */
export function previewWords(result: BulkResult): string {
  const all = result.eligible + result.ineligible;
  return `Applies to ${result.eligible} of ${all} selected workloads`;
}

/** What a batch did, by how many: the heading of its record. */
export function batchTitle(batch: Batch): string {
  const verb = batch.verb in ACTION_WORDS ? ACTION_WORDS[batch.verb as BulkActionVerb].verb : "Cancel";
  const [only] = batch.items;
  return `${verb} ${batch.items.length === 1 && only !== undefined ? only.workload : `${batch.items.length} workloads`}`;
}

/** For how many workloads the batch can still be undone. */
export function standingWords(batch: Batch): string {
  const stands = batch.items.filter((item) => item.canUndo).length;
  if (stands === 0) return "Can't be undone";
  return stands === batch.items.length ? "Can be undone for all workloads" : `Can be undone for ${stands} of ${batch.items.length} workloads`;
}

/** The results of an undo: first the workloads left alone because of later changes. */
export function takenBack(undone: BulkResult, before: Batch): BulkResult["items"] {
  const asked = new Set(undone.items.map((item) => item.workload));
  const left = before.items.filter((item) => !asked.has(item.workload));
  return [...left.map(({ workload, phase, reason }) => ({ workload, phase, uid: "", outcome: "ineligible" as const, reason, next: "" })), ...undone.items];
}

/** The CLI equivalent. */
export function commandFor(action: BulkActionVerb, keys: string[], input: ActionInput): string {
  const reason = `--reason ${quoted(input.reason === "" ? "…" : input.reason)}`;
  const expiry = input.expirySeconds > 0 ? ` --for ${input.expirySeconds}s` : "";
  const verb = action === "requeue" ? "requeue" : action;
  return `headgate ${verb} ${keys.map(quoted).join(" ")} ${reason}${expiry}`;
}
