// What the overview reads: use and demand over time, queues in one row each, causes of alerts, and marks.
import { queryOptions } from "@tanstack/react-query";

import { api, contentOf } from "@/lib/api/request";
import { type TimeRange, apiBounds, boundsOf } from "@/lib/time-range";

import { type Mark, marksOf } from "../model/marks";

const POINTS = 96;
const MAX_MARKS = 200;
const OUTAGES = "node.fell_silent,node.executor_lost,executor.lost";

/** One resource over a time range, by ClusterQueue; from `since` on where it is given. */
export function capacityQuery(resource: string, range: TimeRange, since?: string) {
  return queryOptions({
    queryKey: ["capacity", resource, range, since],
    queryFn: ({ signal }) => {
      const query = { ...(resource && { resource }), ...apiBounds(range, Date.now()), ...(since && { since }), points: POINTS };
      return contentOf(api.GET("/v1/usage", { params: { query }, signal }));
    },
    placeholderData: (before) => before,
  });
}

/** Each ClusterQueue in one row. */
export function queueRowsQuery(resource: string) {
  return queryOptions({
    queryKey: ["overview", "queues", resource],
    queryFn: ({ signal }) => contentOf(api.GET("/v1/queues/summary", { params: { query: { ...(resource && { resource }) } }, signal })),
    placeholderData: (before) => before,
  });
}

/** Whether scheduling keeps up. */
export const systemQuery = queryOptions({
  queryKey: ["capacity", "system"],
  queryFn: ({ signal }) => contentOf(api.GET("/v1/system", { signal })),
});

/** Changes of configuration and outages within a time range, the latest first. */
export function rangeMarksQuery(range: TimeRange) {
  return queryOptions({
    queryKey: ["history", "range-marks", range],
    queryFn: async ({ signal }): Promise<Mark[]> => {
      const [from, to] = boundsOf(range, Date.now());
      const bounds = { since: new Date(from).toISOString(), until: new Date(to).toISOString() };
      const [revisions, outages] = await Promise.all([
        contentOf(api.GET("/v1/history", { params: { query: { limit: MAX_MARKS } }, signal })),
        contentOf(api.GET("/v1/events", { params: { query: { type: OUTAGES, limit: MAX_MARKS, ...bounds } }, signal })),
      ]);
      return marksOf(revisions.items, outages.items).filter(({ at }) => at * 1000 >= from);
    },
  });
}
