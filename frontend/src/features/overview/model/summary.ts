// The first page in one sentence, and its numbers in the order of a workload's life.
import type { Overview, Phase } from "@/lib/api/types";

const RANK: Record<string, number> = { critical: 0, warning: 1, info: 2 };

/** The state of the installation in one sentence. */
export function summaryOf({ attention, counts }: Pick<Overview, "attention" | "counts">): string {
  const waiting = (counts.Pending ?? 0) + (counts.Retrying ?? 0) + (counts.Nominated ?? 0);
  const placed = (counts.QuotaReserved ?? 0) + (counts.Starting ?? 0) + (counts.Running ?? 0) + (counts.Evicting ?? 0);
  const state = `${placed} with a place, ${waiting} waiting.`;
  if (attention.length === 0) return `Nothing needs attention; ${state}`;
  return `${attention.length} ${attention.length === 1 ? "thing needs" : "things need"} attention; ${state}`;
}

/** The most severe first; the server's order within one severity. */
export function bySeverity<Item extends { severity: string }>(attention: Item[]): Item[] {
  return [...attention].sort((left, right) => (RANK[left.severity] ?? 3) - (RANK[right.severity] ?? 3));
}

/** The phases to show: those of unfinished workloads always, ends only where there are any. */
export function tilesOf(counts: Overview["counts"], phases: readonly Phase[]): { phase: Phase; count: number }[] {
  const always: readonly Phase[] = ["Pending", "Starting", "Running", "Succeeded"];
  return phases.map((phase) => ({ phase, count: counts[phase] ?? 0 })).filter((tile) => tile.count > 0 || always.includes(tile.phase));
}
