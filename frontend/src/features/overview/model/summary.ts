// The first page in one sentence, and its numbers in the order of a workload's life.
import type { Overview, Phase } from "@/lib/api/types";

/** The state of the installation in one sentence. */
export function summaryOf({ attention, counts }: Pick<Overview, "attention" | "counts">): string {
  const waiting = (counts.Pending ?? 0) + (counts.Retrying ?? 0) + (counts.Nominated ?? 0);
  const placed = (counts.QuotaReserved ?? 0) + (counts.Starting ?? 0) + (counts.Running ?? 0) + (counts.Evicting ?? 0);
  const alerts = attention.length === 0 ? "No alerts" : `${attention.length} ${attention.length === 1 ? "alert" : "alerts"}`;
  return `${alerts} · ${placed} admitted · ${waiting} pending`;
}

/** The phases to show: those of unfinished workloads always, ends only where there are any. */
export function tilesOf(counts: Overview["counts"], phases: readonly Phase[]): { phase: Phase; count: number }[] {
  const always: readonly Phase[] = ["Pending", "Starting", "Running", "Succeeded"];
  return phases.map((phase) => ({ phase, count: counts[phase] ?? 0 })).filter((tile) => tile.count > 0 || always.includes(tile.phase));
}
