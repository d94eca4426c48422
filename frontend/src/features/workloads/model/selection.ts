// What is selected in the grid: rows that are loaded, or the frozen set of all that match.
import type { SelectedWorkload, WorkloadRow } from "@/lib/api/types";

import { rowKey } from "./list-anchor";

/** The most workloads that one action takes. */
export const MAX_SELECTED = 10_000;

export type Selection = Record<string, true>;

/** All that matched when they were read. */
export interface FrozenSet {
  items: readonly SelectedWorkload[];
  at: number;
}

/** A row as an action on many takes it. */
export function chosenOf(row: WorkloadRow): SelectedWorkload {
  const { uid, owner, phase, held, active, gpus } = row;
  return { workload: rowKey(row), uid, owner, phase, held, active, gpus };
}

/** The selected workloads: as the rows that are loaded show them, the others as the set has them. */
export function chosenIn(rows: readonly WorkloadRow[], selection: Selection, frozen: FrozenSet | null): SelectedWorkload[] {
  const loaded = new Map(rows.map((row) => [rowKey(row), row]));
  const inSet = (frozen?.items ?? []).filter(({ workload }) => selection[workload]);
  const known = new Set(inSet.map(({ workload }) => workload));
  const current = inSet.map((one) => {
    const row = loaded.get(one.workload);
    // One of the same name that was submitted since is no part of the set.
    return row?.uid === one.uid ? chosenOf(row) : one;
  });
  const others = [...loaded].filter(([key]) => selection[key] && !known.has(key)).map(([, row]) => chosenOf(row));
  return [...current, ...others];
}

/** Why not all that match can be selected; undefined where they can. */
export function selectionRefusal(total: number): string | undefined {
  return total > MAX_SELECTED ? `One action takes at most ${MAX_SELECTED.toLocaleString("en")} workloads. Narrow the filter.` : undefined;
}
