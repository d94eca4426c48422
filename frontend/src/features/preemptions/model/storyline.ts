// Preemptions in order of time: a column for each round, a lane for each workload, or each queue of many workloads.
import type { Round } from "@/lib/api/types";

export const MAX_COLUMNS = 60;
/** Of more workloads than these a lane is a queue. */
export const MAX_LANES = 30;
export const OTHER_QUEUES = "other queues";

export interface Column {
  round: Round;
  preemptorRow: number;
  /** The lanes of its victims, each once, with how many they are. */
  victims: { row: number; count: number }[];
}

/** A workload that had to go in one column and makes others go in a later one. */
export interface Link {
  row: number;
  from: number;
  to: number;
}

export interface Storyline {
  by: "workload" | "queue";
  lanes: string[];
  columns: Column[];
  links: Link[];
}

/** The newest rounds, oldest first; lanes in the order in which workloads or queues first take part. */
export function storyline(rounds: readonly Round[], most = MAX_COLUMNS): Storyline {
  const ordered = [...rounds].sort(byTime).slice(-most);
  const workloads = new Set(ordered.flatMap(({ preemptor, victims }) => [preemptor, ...victims.map(({ workload }) => workload)]));
  const by = workloads.size > MAX_LANES ? "queue" : "workload";
  const rowOf = rows();
  const columns = ordered.map((round) => {
    const preemptorRow = rowOf.row(by === "queue" ? round.clusterQueue : round.preemptor);
    const counts = new Map<number, number>();
    for (const victim of round.victims) {
      const row = rowOf.row(by === "queue" ? victim.clusterQueue : victim.workload);
      counts.set(row, (counts.get(row) ?? 0) + 1);
    }
    return { round, preemptorRow, victims: [...counts].map(([row, count]) => ({ row, count })) };
  });
  return { by, lanes: rowOf.names(), columns, links: by === "queue" ? [] : linksOf(columns) };
}

/** Numbers names as they come; beyond the last lane but one, all others have the last one. */
function rows() {
  const known = new Map<string, number>();
  const row = (name: string): number => {
    const number = known.get(name);
    if (number !== undefined) return number;
    const isLast = known.size >= MAX_LANES - 1;
    const lane = isLast ? OTHER_QUEUES : name;
    const next = known.get(lane) ?? known.size;
    known.set(lane, next);
    return next;
  };
  return { row, names: () => [...known.keys()] };
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
    for (const { row } of column.victims) lastGone.set(row, index);
  });
  return links;
}

export interface TimeAxis {
  /** Where each column stands, in pixels. */
  places: number[];
  /** The width that all of them need. */
  width: number;
  /** The columns that have their time below the axis. */
  ticks: number[];
}

/** Columns by their time across a width; those of nearly one time stand beside each other. */
export function timeAxis(columns: readonly Column[], { width, margin, gap, tick }: { width: number; margin: number; gap: number; tick: number }): TimeAxis {
  const times = columns.map(({ round }) => Date.parse(round.committedAt));
  const [first = 0] = times;
  const span = Math.max(1, (times.at(-1) ?? first) - first);
  const places: number[] = [];
  for (const time of times) {
    const here = margin + ((time - first) / span) * (width - 2 * margin);
    const before = places.at(-1);
    places.push(before === undefined ? here : Math.max(here, before + gap));
  }
  // Those that were moved beyond the end go back as far as there is room.
  const room = margin + (places.length - 1) * gap;
  places.forEach((place, index) => (places[index] = Math.min(place, Math.max(room, width - margin) - (places.length - 1 - index) * gap)));
  const needed = (places.at(-1) ?? margin) + margin;
  const ticks: number[] = [];
  places.forEach((place, index) => {
    const last = ticks.at(-1);
    if (last === undefined || place - (places[last] ?? 0) >= tick) ticks.push(index);
  });
  return { places, width: Math.max(width, needed), ticks };
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
