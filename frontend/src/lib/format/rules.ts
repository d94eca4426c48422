// The rules of preemption in words.
const RULES: Record<string, string> = {
  InClusterQueue: "lower priority in the same ClusterQueue (InClusterQueue)",
  InCohortReclamation: "reclaims lent quota (InCohortReclamation)",
  InCohortReclaimWhileBorrowing: "reclaims while borrowing (InCohortReclaimWhileBorrowing)",
  InCohortFairSharing: "fair sharing (InCohortFairSharing)",
};

/** The preemption rule of a victim in words. */
export function ruleWords(reason: string): string {
  return RULES[reason] ?? reason;
}
