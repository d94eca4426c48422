// Events of one cause together: all of a scheduling cycle, of a request or of a bulk action in one row.
import type { Fact } from "@/lib/api/types";
import { factWords } from "@/lib/events";

/** A row of the log: an event, or the head of a group, which stands for the events of one correlation ID. */
export interface EventRow {
  key: string;
  /** The event itself, or the newest of the group. */
  fact: Fact;
  /** The events of a group, newest first; undefined for an event. */
  group?: Fact[];
  /** Whether the event stands below the head of its group. */
  isInside?: boolean;
}

/** Each event in a row of its own. */
export function eventRows(facts: readonly Fact[]): EventRow[] {
  return facts.map((fact) => ({ key: String(fact.position), fact }));
}

/** The events by their correlation ID, each group where its newest event stands; those of open groups below its head. */
export function groupedRows(facts: readonly Fact[], open: ReadonlySet<string>): EventRow[] {
  const groups = new Map<string, Fact[]>();
  for (const fact of facts) {
    const cause = fact.correlation || String(fact.position);
    groups.set(cause, [...(groups.get(cause) ?? []), fact]);
  }
  return [...groups].flatMap(([key, group]): EventRow[] => {
    const [newest] = group;
    if (newest === undefined) return [];
    if (group.length === 1) return eventRows(group);
    const below = open.has(key) ? eventRows(group).map((row) => ({ ...row, isInside: true })) : [];
    return [{ key, fact: newest, group }, ...below];
  });
}

/** What caused a group of events. */
export function groupWords(group: readonly Fact[]): string {
  if (group.some(({ type }) => type === "round.committed")) return "Preemption round";
  if (group.some(({ causation }) => causation?.startsWith("batch:"))) return "Bulk action";
  return group.every(({ actor }) => actor === "scheduler") ? "Scheduling cycle" : "Request";
}

/** How many events of each type there are, the most first: "13 Pending reason updated, 1 Quota reserved". */
export function groupDetail(group: readonly Fact[]): string {
  const counts = new Map<string, number>();
  for (const fact of group) counts.set(factWords(fact), (counts.get(factWords(fact)) ?? 0) + 1);
  return [...counts]
    .sort(([one, most], [other, least]) => least - most || one.localeCompare(other))
    .map(([words, count]) => `${count} ${words}`)
    .join(", ");
}

/** How many objects the events of a group are about. */
export function objectsOf(group: readonly Fact[]): number {
  return new Set(group.map(({ stream }) => stream)).size;
}

/** What a correlation ID names, with as much of the ID as tells it from others: "cycle 4f1c". */
export function correlationWords({ actor, causation = "", correlation = "" }: Pick<Fact, "actor" | "causation" | "correlation">): string {
  if (correlation === "") return "—";
  const kind = causation.startsWith("batch:") ? "bulk action" : actor === "scheduler" && causation === "" ? "cycle" : "request";
  return `${kind} ${correlation.slice(-ID_LETTERS)}`;
}

const ID_LETTERS = 4;

/** Events of the same correlation ID or object that came after one, the first of them first. */
export function after({ position }: Pick<Fact, "position">, facts: readonly Fact[], most: number): Fact[] {
  return facts
    .filter((fact) => fact.position > position)
    .sort((one, other) => one.position - other.position)
    .slice(0, most);
}
