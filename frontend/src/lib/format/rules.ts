// The rules of preemption in words.
const RULES: Record<string, string> = {
  InClusterQueue: "lower priority in the same queue",
  InCohortReclamation: "reclaims quota that was borrowed",
  InCohortReclaimWhileBorrowing: "lower priority, while borrowing itself",
  InCohortFairSharing: "fair share of the cohort",
};

/** The preemption rule of a victim in words. */
export function ruleWords(reason: string): string {
  return RULES[reason] ?? reason;
}
