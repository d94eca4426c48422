// One line of quota as the pieces of a bar.
import type { QueueNode, QuotaLine } from "@/lib/api/types";
import { formatAmount, shareOf } from "@/lib/format/amounts";

export interface BarPieces {
  /** Shares of the bar's width. */
  own: number;
  lent: number;
  borrowed: number;
  /** Used beyond all quota, since some was taken away. */
  over: number;
  /** Where the nominal quota ends. */
  nominalAt: number;
}

/** Own usage, lent and borrowed amounts, and usage over quota. */
export function piecesOf(line: QuotaLine): BarPieces {
  const over = line.overcommitted ?? 0;
  const own = Math.max(0, line.used - line.borrowed - over);
  const whole = Math.max(line.nominal, own + line.lent) + line.borrowed + over;
  return {
    own: shareOf(own, whole),
    lent: shareOf(line.lent, whole),
    borrowed: shareOf(line.borrowed, whole),
    over: shareOf(over, whole),
    nominalAt: whole === 0 ? 1 : shareOf(Math.max(line.nominal, own + line.lent), whole),
  };
}

/** The line in words, by name where something is borrowed or lent. */
export function wordsOf(line: QuotaLine): string {
  const amount = (value: number) => formatAmount(line.resource, value, Math.max(line.used, line.nominal));
  const parts = [`${amount(line.used)} of ${amount(line.nominal)} used`];
  if (line.borrowed > 0) parts.push(`${amount(line.borrowed)} borrowed${named(line.borrowedFrom, "from", amount)}`);
  if (line.lent > 0) parts.push(`${amount(line.lent)} lent${named(line.lentTo, "to", amount)}`);
  if (line.overcommitted) parts.push(`${amount(line.overcommitted)} over quota`);
  return parts.join(", ");
}

/** The borrowing and lending limits in words; empty without limits. */
export function limitsOf(line: QuotaLine): string {
  const amount = (value: number) => formatAmount(line.resource, value);
  const parts: string[] = [];
  if (typeof line.borrowingLimit === "number") parts.push(`borrowing limit ${amount(line.borrowingLimit)}`);
  if (typeof line.lendingLimit === "number") parts.push(`lending limit ${amount(line.lendingLimit)}`);
  return parts.join(", ");
}

/** The share that the API gives to a borrowing queue of weight 0. */
const BEYOND_ANY_SHARE = 2 ** 53;

/** The share of what the cohort lends that a node takes, divided by its weight; none while it borrows nothing. */
export function fairShareWords(node: QueueNode): string | undefined {
  const share = node.weightedShare ?? 0;
  if (share <= 0) return undefined;
  if (share >= BEYOND_ANY_SHARE) return "fair-sharing weight 0 (always last)";
  return `fair share ${(share / 10).toLocaleString("en", { maximumFractionDigits: 1 })}%`;
}

function named(
  parties: { clusterQueue: string; amount: number }[] | undefined,
  preposition: string,
  amount: (value: number) => string,
): string {
  if (parties === undefined || parties.length === 0) return "";
  if (parties.length === 1) return ` ${preposition} ${parties[0]?.clusterQueue ?? ""}`;
  return ` ${preposition} ${parties.map((party) => `${party.clusterQueue} (${amount(party.amount)})`).join(", ")}`;
}

/** One ClusterQueue anywhere in the tree, with the cohorts above it. */
export function findQueue(roots: QueueNode[], name: string, above: string[] = []): { node: QueueNode; cohorts: string[] } | undefined {
  for (const node of roots) {
    if (node.kind === "ClusterQueue" && node.name === name) return { node, cohorts: above };
    const found = findQueue(node.children, name, [...above, node.name]);
    if (found) return found;
  }
  return undefined;
}
