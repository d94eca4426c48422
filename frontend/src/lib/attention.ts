// The order of alerts.
const RANK: Record<string, number> = { critical: 0, warning: 1, info: 2 };

/** The most severe first; the server's order within one severity. */
export function bySeverity<Item extends { severity: string }>(attention: Item[]): Item[] {
  return [...attention].sort((left, right) => (RANK[left.severity] ?? 3) - (RANK[right.severity] ?? 3));
}
