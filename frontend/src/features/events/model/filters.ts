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
