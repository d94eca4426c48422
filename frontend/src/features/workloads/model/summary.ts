// A workload's row in words: how many pods, and why or where.
import type { Phase, PodSetAssignment, WorkloadObject } from "@/lib/api/types";
import { formatAmountOf, shortResource } from "@/lib/format/amounts";

import { placesOf } from "./placement";

/** All pods of all pod sets. */
export function podCount(workload: WorkloadObject): number {
  return workload.spec.podSets.reduce((sum, set) => sum + (set.count ?? 1), 0);
}

const PLACED: readonly Phase[] = ["Starting", "Running", "Succeeded"];

/** In a line why the workload is pending or how it ended, or where it runs; `whole` is the sentence. */
export function reasonOf({ status }: WorkloadObject): { short: string; whole: string } {
  const { explanation, admission } = status ?? {};
  const isPlaced = PLACED.includes(status?.phase ?? "Pending");
  if (admission && (isPlaced || !explanation)) {
    const place = `In ${admission.clusterQueue}${hostWords(admission.podSetAssignments)}`;
    return { short: place, whole: explanation ? `${place}. ${explanation.sentence}` : place };
  }
  const { summary = "", sentence = "", dominant } = explanation ?? {};
  // The badge says it of a pending workload; that of a held or retrying one says something else.
  const isSaid = dominant !== "Unschedulable" || status?.phase === "Pending";
  return { short: isSaid ? summary : `Unschedulable: ${summary}`, whole: sentence };
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
