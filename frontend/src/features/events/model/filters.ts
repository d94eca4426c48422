// What the log is narrowed to, and the range drawn over its histogram.
import { type FilterLanguage, partsIn } from "@/components/ui/filter-language";
import type { UrlState } from "@/lib/hooks/use-url";
import { type TimeRange, boundsOf } from "@/lib/time-range";

export interface EventFilters {
  type: string;
  stream: string;
  actor: string;
  correlation: string;
  /** A part of what an event says. */
  text: string;
  since: string;
  until: string;
}

/** The filters in the address; two fixed instants of the time range narrow the log, a length that ends now does not. */
export function eventFiltersIn(url: Pick<UrlState, "get">, { from, to }: Pick<TimeRange, "from" | "to">): EventFilters {
  const [type = "", stream = "", actor = "", correlation = ""] = TOKEN_FIELDS.map(({ filter }) => url.get(filter));
  return { type, stream, actor, correlation, text: url.get("text"), since: from, until: to };
}

const isOneWord = (value: string) => !/[\s,]/.test(value);

/** The fields of a token, and the filter that each stands for. */
export const TOKEN_FIELDS = [
  { name: "type", filter: "type", words: "Type of event; several are alternatives", accepts: isOneWord },
  { name: "object", filter: "stream", words: "Object, as workload/team-a/train or node/", accepts: isOneWord },
  { name: "actor", filter: "actor", words: "User, or scheduler", single: true, accepts: isOneWord },
  { name: "correlation", filter: "correlation", words: "Request, cycle or bulk action", single: true, accepts: isOneWord },
] as const;

export const LANGUAGE: FilterLanguage = { fields: TOKEN_FIELDS, bare: "text" };

/** The filters as tokens; a range in time is none. */
export function tokensOf(filters: EventFilters): string[] {
  const named = TOKEN_FIELDS.flatMap(({ name, filter }) => valuesOf(filters[filter]).map((value) => `${name}:${value}`));
  return filters.text === "" ? named : [...named, filters.text];
}

/** The filters that tokens say; those of one field are alternatives. */
export function filtersOf(tokens: readonly string[]): Omit<EventFilters, "since" | "until"> {
  const parts = tokens.map((token) => partsIn(LANGUAGE, token));
  const valueOf = (name: string) => parts.flatMap(({ field, value }) => (field === name ? [value] : [])).join(",");
  return { type: valueOf("type"), stream: valueOf("object"), actor: valueOf("actor"), correlation: valueOf("correlation"), text: valueOf("") };
}

/** The change of the filters by one token less. */
export function withoutToken(filters: EventFilters, token: string): Partial<EventFilters> {
  return filtersOf(tokensOf(filters).filter((known) => known !== token));
}

function valuesOf(text: string): string[] {
  return text.split(",").filter((value) => value !== "");
}

/** How many events match without one of the filters; with `more` there are more than were counted. */
export interface Without {
  /** A token, or empty for the time range. */
  token: string;
  count: number;
  more: boolean;
}

/** The filter without which most events match; undefined where none match without any single one. */
export function mostExcluding(counts: readonly Without[]): Without | undefined {
  const [first] = [...counts].sort((one, other) => Number(other.more) - Number(one.more) || other.count - one.count);
  return first !== undefined && first.count > 0 ? first : undefined;
}

/** The filters without one token, or without the time range where the token is empty. */
export function filtersWithout(filters: EventFilters, token: string): EventFilters {
  return token === "" ? { ...filters, since: "", until: "" } : { ...filters, ...withoutToken(filters, token) };
}

const MAX_MINUTES = 527_040;
const MINUTE = 60_000;

/** What the histogram is asked for: the minutes of the range, or those since its first event, up to its end where that is not now. */
export function periodOf(range: TimeRange, now: number, since?: string): { minutes: number; until?: string } {
  const [whole, to] = boundsOf(range, now);
  const from = since === undefined ? whole : Date.parse(since);
  const minutes = Math.min(MAX_MINUTES, Math.max(1, Math.ceil((to - from) / MINUTE)));
  return range.last === "" && to < now ? { minutes, until: range.to } : { minutes };
}

/** Kinds of events, as the histogram stacks them from below. */
export const FAMILIES = ["admission", "preemption", "failure", "configuration", "other"] as const;
export type Family = (typeof FAMILIES)[number];

const FAILURES = /failed|not_ready|gone|lost|silent|expired|deactivated|stalled|forced|rewound|discarded/;
const PREEMPTIONS = /evict|preempt|shrunk/;
const SCHEDULED = /^workload\./;
const CONFIGURED = /\.(created|changed|deleted|deletion_requested|stopped|resumed)$/;

/** The family of a type of event. */
export function familyOf(type: string): Family {
  if (type.startsWith("round.") || PREEMPTIONS.test(type)) return "preemption";
  if (FAILURES.test(type)) return "failure";
  if (SCHEDULED.test(type)) return "admission";
  return CONFIGURED.test(type) || /cordoned|drain/.test(type) ? "configuration" : "other";
}

/** How many events of each family there were in each bucket. */
export function byFamily(buckets: readonly { types: Record<string, number> }[]): Record<Family, number[]> {
  const counts = Object.fromEntries(FAMILIES.map((family) => [family, buckets.map(() => 0)])) as Record<Family, number[]>;
  for (const [index, { types }] of buckets.entries()) {
    for (const [type, count] of Object.entries(types)) counts[familyOf(type)][index] = (counts[familyOf(type)][index] ?? 0) + count;
  }
  return counts;
}
