// Reading the log backwards, and how much happened when.
import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";

import { api, contentOf } from "@/lib/api/request";

import type { EventFilters } from "../model/filters";

const PAGE_SIZE = 100;
const BUCKETS = 60;

/** Pages of the log that match, newest first. */
export function eventsQuery(filters: EventFilters) {
  const wanted = Object.fromEntries(Object.entries(filters).filter(([, text]) => text !== ""));
  return infiniteQueryOptions({
    queryKey: ["events", "pages", filters],
    queryFn: ({ pageParam, signal }) => {
      const query = { ...wanted, limit: PAGE_SIZE, before: pageParam };
      return contentOf(api.GET("/v1/events", { params: { query }, signal }));
    },
    initialPageParam: undefined as number | undefined,
    getNextPageParam: (page) => page.next ?? undefined,
  });
}

/** How many events there were per slice of the last minutes. */
export function histogramQuery(minutes: number) {
  return queryOptions({
    queryKey: ["events", "histogram", minutes],
    queryFn: ({ signal }) =>
      contentOf(api.GET("/v1/events/histogram", { params: { query: { minutes, buckets: BUCKETS } }, signal })),
  });
}
