// What the log is narrowed to, and the range drawn over its histogram.
import type { UrlState } from "@/lib/hooks/use-url";

export interface EventFilters {
  type: string;
  stream: string;
  actor: string;
  correlation: string;
  since: string;
  until: string;
}

export const EVENT_FILTERS = ["type", "stream", "actor", "correlation", "since", "until"] as const;

/** The filters in the address. */
export function eventFiltersIn(url: UrlState): EventFilters {
  const [type, stream, actor, correlation, since, until] = EVENT_FILTERS.map((name) => url.get(name));
  return {
    type: type ?? "",
    stream: stream ?? "",
    actor: actor ?? "",
    correlation: correlation ?? "",
    since: since ?? "",
    until: until ?? "",
  };
}

/** The fields of a token, and the filter that each stands for. */
export const TOKEN_FIELDS = [
  { name: "type", filter: "type", words: "Type of event; several are alternatives" },
  { name: "object", filter: "stream", words: "Object, as workload/team-a/train or node/" },
  { name: "actor", filter: "actor", words: "User, or scheduler" },
  { name: "correlation", filter: "correlation", words: "Request, cycle or bulk action" },
] as const;

const SEVERAL = new Set(["type", "stream"]);

/** A token taken apart; without a known field before its first colon it has none. */
export function partsOf(token: string): { field: string; value: string } {
  const colon = token.indexOf(":");
  const field = token.slice(0, Math.max(0, colon)).trim();
  return TOKEN_FIELDS.some(({ name }) => name === field) ? { field, value: token.slice(colon + 1).trim() } : { field: "", value: token };
}

/** Whether a token can be filtered by. */
export function isComplete(token: string): boolean {
  const { field, value } = partsOf(token);
  return field !== "" && value !== "" && !/[\s,]/.test(value);
}

/** The filters as tokens; a range in time is none. */
export function tokensOf(filters: EventFilters): string[] {
  return TOKEN_FIELDS.flatMap(({ name, filter }) => valuesOf(filters[filter]).map((value) => `${name}:${value}`));
}

/** The change of the filters by one more token: an alternative where a field takes several, else instead of the one before. */
export function withToken(filters: EventFilters, token: string): Partial<EventFilters> {
  const { field, value } = partsOf(token);
  const filter = TOKEN_FIELDS.find(({ name }) => name === field)?.filter;
  if (filter === undefined) return {};
  const others = SEVERAL.has(filter) ? valuesOf(filters[filter]).filter((known) => known !== value) : [];
  return { [filter]: [...others, value].join(",") };
}

/** The change of the filters by one token less. */
export function withoutToken(filters: EventFilters, token: string): Partial<EventFilters> {
  const { field, value } = partsOf(token);
  const filter = TOKEN_FIELDS.find(({ name }) => name === field)?.filter;
  if (filter === undefined) return {};
  return { [filter]: valuesOf(filters[filter]).filter((known) => known !== value).join(",") };
}

function valuesOf(text: string): string[] {
  return text.split(",").filter((value) => value !== "");
}

/** Which bars a range in time covers; null when none is chosen. */
export function rangeOf(buckets: { at: string }[], since: string, until: string): [number, number] | null {
  if (since === "" || until === "") return null;
  const from = Date.parse(since);
  const to = Date.parse(until);
  const inside = buckets.map((bucket) => Date.parse(bucket.at)).map((at) => at >= from && at < to);
  const first = inside.indexOf(true);
  return first < 0 ? null : [first, inside.lastIndexOf(true)];
}

/** The range in time that some bars cover, from the first's beginning to the last's end. */
export function timesOf(buckets: { at: string }[], first: number, last: number, bucketSeconds: number): { since: string; until: string } {
  const since = buckets[first]?.at ?? "";
  const end = Date.parse(buckets[last]?.at ?? "") + bucketSeconds * 1000;
  return { since, until: new Date(end).toISOString() };
}
