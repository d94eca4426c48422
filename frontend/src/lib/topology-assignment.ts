// The domains of a topology assignment, which the API writes in slices as Kueue's v1beta2 does.
import type { components } from "@/lib/api/generated/schema";

export type TopologyAssignment = components["schemas"]["TopologyAssignment"];
type Slice = components["schemas"]["AssignmentSlice"];
type Level = components["schemas"]["LevelValues"];

export interface Domain {
  values: string[];
  count: number;
}

/** Domains with their pods, in rank order; empty without an assignment. */
export function domainsOf(assignment: TopologyAssignment | null | undefined): Domain[] {
  return (assignment?.slices ?? []).flatMap(domainsOfSlice);
}

function domainsOfSlice({ domainCount, valuesPerLevel, podCounts }: Slice): Domain[] {
  return Array.from({ length: domainCount }, (_, number) => ({
    values: valuesPerLevel.map((level) => valueOf(level, number)),
    count: podCounts.individual?.[number] ?? podCounts.universal ?? 0,
  }));
}

function valueOf({ universal, individual }: Level, number: number): string {
  if (!individual) return universal ?? "";
  return `${individual.prefix ?? ""}${individual.roots[number] ?? ""}${individual.suffix ?? ""}`;
}
