// Pending workloads of a queue in words: when each may start, what it lacks, and where evaluation ends.
import type { PendingWorkload } from "@/lib/api/types";
import { formatAmountOf } from "@/lib/format/amounts";
import { formatShortTime } from "@/lib/format/times";

/** A pending workload, or a note that stands above it in a row of its own. */
export type PendingRow = PendingWorkload & { note?: string };

/** The rows; where the head of a strict queue keeps those behind it from evaluation, a note says so. */
export function pendingRows(items: readonly PendingWorkload[], strategy: string, isWhole: boolean): PendingRow[] {
  const first = strategy === "StrictFIFO" ? items.findIndex(({ dominant }) => dominant === "BehindHead") : -1;
  const behind = items[first];
  const head = items[0];
  if (behind === undefined || head === undefined) return [...items];
  const count = items.filter(({ dominant }) => dominant === "BehindHead").length;
  const many = isWhole ? `${count.toLocaleString("en")} ${count === 1 ? "workload" : "workloads"}` : "Workloads";
  const note = `${many} behind this point ${count === 1 && isWhole ? "is" : "are"} not evaluated (StrictFIFO head: ${head.metadata.name})`;
  return [...items.slice(0, first), { ...behind, note }, ...items.slice(first)];
}

/** When a workload may start, in a few words, and what is told beside them. */
export function startWords({ dominant, expectedStart }: Pick<PendingWorkload, "dominant" | "expectedStart">, now = new Date()): { words: string; detail: string } {
  if (dominant === "Unschedulable") return { words: "—", detail: "It can never start as it is" };
  const { about, earliest, latest, cannotSay = "" } = expectedStart ?? {};
  if (!about || !earliest || !latest) return { words: "no estimate", detail: cannotSay };
  const [from, to] = [formatShortTime(earliest, now), formatShortTime(latest, now)];
  return { words: from === to ? from : `${from} to ${shorter(from, to)}`, detail: `Most likely about ${formatShortTime(about, now)}` };
}

/** The end of a range without the day where that is the day of its beginning. */
function shorter(from: string, to: string): string {
  const day = from.slice(0, from.lastIndexOf(",") + 1);
  return day !== "" && to.startsWith(day) ? to.slice(day.length).trim() : to;
}

/** The deciding constraint as a bar of what is needed; undefined without an amount. */
export function constraintBar({ constraint }: Pick<PendingWorkload, "constraint">): { share: number; words: string } | undefined {
  if (!constraint || constraint.need <= 0) return undefined;
  const { resource, need, have } = constraint;
  const words = (amount: number) => (resource ? formatAmountOf(resource, amount, need) : `${amount} ${amount === 1 ? "pod" : "pods"}`);
  return { share: Math.min(1, have / need), words: `${words(have)} of ${words(need)} available` };
}
