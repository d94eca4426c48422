// Use and demand of one resource, by ClusterQueue: over time with marks, and now; several pages show a part.
import { queryOptions } from "@tanstack/react-query";

import type { UsageGrouping } from "@/lib/api/types";
import { chartMarks } from "@/lib/marks";
import { type TimeRange, apiBounds } from "@/lib/time-range";

import { api, contentOf } from "./request";

const POINTS = 96;

/** One resource over a time range, by ClusterQueue and other groups; from `since` on where it is given. */
export function capacityQuery(resource: string, range: TimeRange, since?: string, by: UsageGrouping = "clusterQueue") {
  return queryOptions({
    queryKey: ["capacity", resource, range, since, by],
    queryFn: ({ signal }) => {
      const query = { ...(resource && { resource }), ...apiBounds(range, Date.now()), ...(since && { since }), points: POINTS, by };
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

/** Changes of configuration, stops and outages within a time range, the latest first; of one ClusterQueue what concerns it. */
export function marksQuery(range: TimeRange, clusterQueue = "") {
  return queryOptions({
    queryKey: ["history", "marks", range, clusterQueue],
    queryFn: async ({ signal }) => {
      const query = { ...apiBounds(range, Date.now()), ...(clusterQueue && { clusterQueue }) };
      return chartMarks(await contentOf(api.GET("/v1/marks", { params: { query }, signal })));
    },
  });
}
