// Keeps a list from jumping: what arrived since it was last let in waits behind a "+N new" button.
import type { WorkloadObject } from "@/lib/api/types";

export interface Anchor {
  at: string;
  key: string;
}

export interface Arranged {
  shown: WorkloadObject[];
  waiting: number;
}

/** The name everyone uses: `namespace/name`. */
export function keyOf(workload: WorkloadObject): string {
  return `${workload.metadata.namespace ?? ""}/${workload.metadata.name}`;
}

/** Where a list begins now; what is submitted later counts as new. Null for an empty list. */
export function anchorOf(rows: WorkloadObject[]): Anchor | null {
  const first = rows[0];
  return first === undefined ? null : { at: submittedAt(first), key: keyOf(first) };
}

/** Splits newest-first rows at the anchor. Without an anchor everything is shown. */
export function arrange(rows: WorkloadObject[], anchor: Anchor | null): Arranged {
  if (anchor === null) return { shown: rows, waiting: 0 };
  const anchoredAt = Date.parse(anchor.at);
  const shown = rows.filter((row) => {
    const at = Date.parse(submittedAt(row));
    return at < anchoredAt || (at === anchoredAt && submittedAt(row) <= anchor.at);
  });
  return { shown, waiting: rows.length - shown.length };
}

function submittedAt(workload: WorkloadObject): string {
  return workload.metadata.creationTimestamp ?? "";
}
