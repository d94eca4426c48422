// Events of one cause together: all of a scheduling cycle, of a request or of a bulk action in one row.
import type { EventGroup, Fact } from "@/lib/api/types";
import { factWords, typeWords } from "@/lib/events";

/** The events of one correlation ID. */
export interface Group {
  /** Those that were read, newest first. */
  facts: Fact[];
  count: number;
  /** Whether there are more than are counted. */
  isMore: boolean;
  objects: number;
  types: Readonly<Record<string, number>>;
}

/** What was read of an opened group by itself, newest first, and whether that is all of it. */
export interface Whole {
  facts: Fact[];
  isAll: boolean;
}

/** A row of the log: an event, the head of a group, or what stands for the events of an open group that were not read. */
export interface EventRow {
  key: string;
  /** The event itself, or the newest of the group. */
  fact: Fact;
  /** The group of a head; undefined for an event. */
  group?: Group;
  /** Whether the event stands below the head of its group. */
  isInside?: boolean;
  /** The words for the events that were not read; undefined for other rows. */
  left?: string;
}

/** Each event in a row of its own. */
export function eventRows(facts: readonly Fact[]): EventRow[] {
  return facts.map((fact) => ({ key: String(fact.position), fact }));
}

/**
 * The events by their correlation ID, each group where its newest event in the list stands; those of open groups below its head.
 * `sums` say how many events a group has, also where the list has one of them; `wholes` has the opened groups that were read.
 */
export function groupedRows(facts: readonly Fact[], sums: readonly EventGroup[], wholes: ReadonlyMap<string, Whole | undefined>): EventRow[] {
  const sumOf = new Map(sums.map((sum) => [sum.correlation, sum]));
  const listed = new Map<string, Fact[]>();
  for (const fact of facts) {
    const cause = fact.correlation || String(fact.position);
    listed.set(cause, [...(listed.get(cause) ?? []), fact]);
  }
  return [...listed].flatMap(([key, read]): EventRow[] => {
    const [newest] = read;
    if (newest === undefined) return [];
    if (!newest.correlation) return eventRows(read);
    const whole = wholes.get(key);
    const group = groupOf(whole?.facts ?? read, sumOf.get(key), whole?.isAll ?? false);
    if (group.count === 1 && !group.isMore) return eventRows(read);
    const head = { key, fact: newest, group };
    if (!wholes.has(key)) return [head];
    const left = group.count - group.facts.length;
    const more = whole !== undefined && !whole.isAll && (left > 0 || group.isMore);
    return [
      head,
      ...eventRows(group.facts).map((row) => ({ ...row, isInside: true })),
      ...(more ? [{ key: `${key} more`, fact: newest, left: group.isMore ? "More" : `${amount(left)} more` }] : []),
    ];
  });
}

/** A group by what was read of it, and by what the server counted; without a count there may be more. */
function groupOf(facts: Fact[], sum: EventGroup | undefined, isAll: boolean): Group {
  const counted = Object.values(sum?.types ?? {}).reduce((one, other) => one + other, 0);
  // The last one that was counted tells only that there are more.
  const total = sum?.exceeded === true ? counted - 1 : counted;
  if (sum !== undefined && !isAll && total > facts.length) return { facts, count: total, isMore: sum.exceeded ?? false, objects: sum.objects, types: sum.types };
  const types: Record<string, number> = {};
  for (const { type } of facts) types[type] = (types[type] ?? 0) + 1;
  return { facts, count: facts.length, isMore: !isAll && (sum === undefined || (sum.exceeded ?? false)), objects: new Set(facts.map(({ stream }) => stream)).size, types };
}

/** What caused a group of events. */
export function groupWords({ facts, types }: Group): string {
  if (types["round.committed"] !== undefined) return "Preemption round";
  if (facts.some(({ causation }) => causation?.startsWith("batch:"))) return "Bulk action";
  return facts.every(({ actor }) => actor === "scheduler") ? "Scheduling cycle" : "Request";
}

/** How many events a group has: "9 events", "1,000+ events". */
export function countWords({ count, isMore }: Group): string {
  return `${amount(count)}${isMore ? "+" : ""} ${count === 1 && !isMore ? "event" : "events"}`;
}

function amount(count: number): string {
  return count.toLocaleString("en");
}

/** How many events of each type there are, the most first: "13 Pending reason updated, 1 Quota reserved". */
export function groupDetail({ facts, count, isMore, types }: Group): string {
  const counts = new Map<string, number>();
  const add = (words: string, more: number) => counts.set(words, (counts.get(words) ?? 0) + more);
  // How a workload ended is told by its event, and by no sum.
  if (facts.length === count && !isMore) for (const fact of facts) add(factWords(fact), 1);
  else for (const [type, more] of Object.entries(types)) add(typeWords(type), more);
  return [...counts]
    .sort(([one, most], [other, least]) => least - most || one.localeCompare(other))
    .map(([words, number]) => `${amount(number)} ${words}`)
    .join(", ");
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
