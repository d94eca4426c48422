// What the overview alone reads: whether scheduling keeps up, and marks.
import { queryOptions } from "@tanstack/react-query";

import { api, contentOf } from "@/lib/api/request";
import { type TimeRange, boundsOf } from "@/lib/time-range";

import { type Mark, marksOf } from "../model/marks";

const MAX_MARKS = 200;
const OUTAGES = "node.fell_silent,node.executor_lost,executor.lost";

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
