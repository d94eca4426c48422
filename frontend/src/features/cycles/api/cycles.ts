// Reading what workers planned, and running it again.
import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";

import { api, contentOf } from "@/lib/api/request";
import type { Cycle } from "@/lib/api/types";
import { type TimeRange, apiBounds } from "@/lib/time-range";

const PAGE_SIZE = 100;
const POINTS = 60;

/** Pages of cycles within a time range, newest first; of one partition, or of all. */
export function cyclesQuery(partition: string, range: TimeRange) {
  return infiniteQueryOptions({
    queryKey: ["cycles", partition, range],
    queryFn: ({ pageParam, signal }) => {
      const query = { partition: partition || undefined, limit: PAGE_SIZE, before: pageParam || undefined, ...apiBounds(range, Date.now()) };
      return contentOf(api.GET("/v1/cycles", { params: { query }, signal }));
    },
    initialPageParam: "",
    getNextPageParam: (page) => page.next ?? undefined,
  });
}

/** Sums of cycles over a time range, which begins with the oldest record at the earliest. */
export function cycleSummaryQuery(partition: string, range: TimeRange, oldest: string | undefined) {
  return queryOptions({
    queryKey: ["cycles", "summary", partition, range, oldest],
    queryFn: ({ signal }) => {
      const bounds = apiBounds(range, Date.now());
      const since = oldest !== undefined && Date.parse(oldest) > Date.parse(bounds.since) ? oldest : bounds.since;
      return contentOf(api.GET("/v1/cycles/summary", { params: { query: { partition: partition || undefined, points: POINTS, ...bounds, since } }, signal }));
    },
    placeholderData: (before) => before,
  });
}

/** One cycle with its input and its decisions in order. */
export function cycleQuery(id: string) {
  return queryOptions({
    queryKey: ["cycle", id],
    queryFn: ({ signal }) => contentOf(api.GET("/v1/cycles/{cycle}", { params: { path: { cycle: id }, query: { at: "now" } }, signal })),
  });
}

const NEXT_WITHIN = 600_000;

/** When the cycle after one of its partition was planned; null where none was within ten minutes, or more than a page. */
export function nextCycleQuery({ id, partition, at }: Pick<Cycle, "id" | "partition" | "at">) {
  return queryOptions({
    queryKey: ["cycle", id, "next"],
    queryFn: async ({ signal }) => {
      const until = new Date(Date.parse(at) + NEXT_WITHIN).toISOString();
      const query = { partition, since: at, until, limit: 1000, at: "now" };
      const page = await contentOf(api.GET("/v1/cycles", { params: { query }, signal }));
      return page.next ? null : (page.items.findLast((cycle) => cycle.id !== id)?.at ?? null);
    },
  });
}

/** Runs a cycle again on the same input and compares. */
export function runAgain(id: string) {
  return contentOf(api.GET("/v1/cycles/{cycle}/replay", { params: { path: { cycle: id }, query: { at: "now" } } }));
}
