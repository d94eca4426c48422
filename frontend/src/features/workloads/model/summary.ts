// A workload's row in words: how many pods, and why or where.
import type { PodSetAssignment, WorkloadObject } from "@/lib/api/types";
import { formatAmountOf, shortResource } from "@/lib/format/amounts";

import { placesOf } from "./placement";

/** All pods of all pod sets. */
export function podCount(workload: WorkloadObject): number {
  return workload.spec.podSets.reduce((sum, set) => sum + (set.count ?? 1), 0);
}

/** The pending reason or the placement. */
export function situationOf(workload: WorkloadObject): string {
  const { status } = workload;
  if (status?.admission) return `In ${status.admission.clusterQueue}${hostWords(status.admission.podSetAssignments)}`;
  const conditions = status?.conditions ?? [];
  const finished = conditions.find((found) => found.type === "Finished" && found.status === "True");
  if (finished) return finished.message ?? "";
  const held = conditions.find((found) => found.type === "Held" && found.status === "True");
  if (held?.message) return held.message;
  const reason = conditions.find((found) => found.type === "QuotaReserved")?.message ?? "";
  // A workload of an equivalence class already found inadmissible is not evaluated itself; its page shows the reason of the class.
  return reason === "" && status?.phase === "Pending" ? "Not evaluated by itself yet; open it for the reason" : reason;
}

function hostWords(assignments: PodSetAssignment[]): string {
  const hosts = new Set(
    assignments.flatMap(placesOf).map((place) => place.host),
  );
  if (hosts.size === 0) return "";
  const [first] = hosts;
  return hosts.size === 1 ? ` on ${first ?? ""}` : ` on ${hosts.size} hosts`;
}

/** An amount as the API gives it: quantities are text already, integers are in base units. */
export function usageWords(resource: string, amount: string | number): string {
  return typeof amount === "number" ? formatAmountOf(resource, amount) : `${amount} ${shortResource(resource)}`;
}
