// Preemptions in order of time: a column for each round, a row for each workload.
import type { Round } from "@/lib/api/types";

export const MAX_COLUMNS = 60;

export interface Column {
  round: Round;
  preemptorRow: number;
  victimRows: number[];
  top: number;
  bottom: number;
}

/** A workload that had to go in one column and makes others go in a later one. */
export interface Link {
  row: number;
  from: number;
  to: number;
}

export interface Storyline {
  workloads: string[];
  columns: Column[];
  links: Link[];
}

/** The newest rounds, oldest first; rows in the order in which workloads first take part. */
export function storyline(rounds: readonly Round[], most = MAX_COLUMNS): Storyline {
  const ordered = [...rounds].sort(byTime).slice(-most);
  const rows = new Map<string, number>();
  const rowOf = (workload: string) => {
    const known = rows.get(workload);
    if (known !== undefined) return known;
    rows.set(workload, rows.size);
    return rows.size - 1;
  };
  const columns = ordered.map((round) => {
    const preemptorRow = rowOf(round.preemptor);
    const victimRows = round.victims.map((victim) => rowOf(victim.workload));
    const touched = [preemptorRow, ...victimRows];
    return { round, preemptorRow, victimRows, top: Math.min(...touched), bottom: Math.max(...touched) };
  });
  return { workloads: [...rows.keys()], columns, links: linksOf(columns) };
}

function linksOf(columns: readonly Column[]): Link[] {
  const lastGone = new Map<number, number>();
  const links: Link[] = [];
  columns.forEach((column, index) => {
    const from = lastGone.get(column.preemptorRow);
    if (from !== undefined) {
      links.push({ row: column.preemptorRow, from, to: index });
      lastGone.delete(column.preemptorRow);
    }
    for (const row of column.victimRows) lastGone.set(row, index);
  });
  return links;
}

/** One round as a sentence, for the caption under the picture. */
export function sentenceOf(round: Round): string {
  const names = round.victims.map((victim) => victim.workload);
  const few = names.slice(0, 3).join(", ");
  const rest = names.length > 3 ? ` and ${names.length - 3} more` : "";
  return `${round.preemptor} (priority ${round.preemptorPriority}) preempted ${few}${rest}.`;
}

/** How many of the rounds were committed at the slider position `shown`, within bounds. */
export function clampShown(shown: number, story: Storyline): number {
  return Math.max(1, Math.min(shown, story.columns.length));
}

function byTime(left: Round, right: Round): number {
  const difference = Date.parse(left.committedAt) - Date.parse(right.committedAt);
  return difference === 0 ? left.id.localeCompare(right.id) : difference;
}
