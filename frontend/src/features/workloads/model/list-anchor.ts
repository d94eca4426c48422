// Keeps a list from jumping: what arrived since it was last let in waits behind a "+N new" button.
import type { WorkloadObject, WorkloadRow } from "@/lib/api/types";

export interface Anchor {
  at: string;
  key: string;
}

export interface AnchoredRows {
  shown: WorkloadRow[];
  waiting: number;
}

/** The full name of a workload: `namespace/name`. */
export function keyOf(workload: WorkloadObject): string {
  return `${workload.metadata.namespace ?? ""}/${workload.metadata.name}`;
}

/** The full name of the workload of a row. */
export function rowKey({ namespace, name }: WorkloadRow): string {
  return `${namespace}/${name}`;
}

/** Where a list begins now; what is submitted later counts as new. Null for an empty list. */
export function anchorOf(rows: WorkloadRow[]): Anchor | null {
  const first = rows[0];
  return first === undefined ? null : { at: first.submittedAt, key: rowKey(first) };
}

/** Splits newest-first rows at the anchor. Without an anchor everything is shown. */
export function splitAtAnchor(rows: WorkloadRow[], anchor: Anchor | null): AnchoredRows {
  const waiting = anchor === null ? 0 : countNewer(rows, anchor);
  return { shown: rows.slice(waiting), waiting };
}

function countNewer(rows: WorkloadRow[], anchor: Anchor): number {
  const place = rows.findIndex((row) => rowKey(row) === anchor.key);
  if (place >= 0) return place;
  // The anchor has left the list: what was submitted after it still counts as new.
  const older = rows.findIndex((row) => Date.parse(row.submittedAt) <= Date.parse(anchor.at));
  return older < 0 ? rows.length : older;
}

export interface KeptRow {
  row: WorkloadRow;
  /** It was shown and is no part of the list any more. */
  isGone: boolean;
}

/** The rows of a list with those that were shown and have left it, at their places; `hasMore` where not all of it is read. */
export function withGone(before: readonly KeptRow[], rows: readonly WorkloadRow[], hasMore: boolean): KeptRow[] {
  const now = new Set(rows.map(rowKey));
  const last = before.findLastIndex(({ row }) => now.has(rowKey(row)));
  const behind = new Map<string, KeptRow[]>();
  let previous = "";
  before.forEach(({ row }, place) => {
    const key = rowKey(row);
    if (now.has(key)) previous = key;
    // What stood behind all others may have been pushed to a page that is not read.
    else if (place < last || !hasMore) behind.set(previous, [...(behind.get(previous) ?? []), { row, isGone: true }]);
  });
  const kept = rows.flatMap((row) => [{ row, isGone: false }, ...(behind.get(rowKey(row)) ?? [])]);
  return [...(behind.get("") ?? []), ...kept];
}
