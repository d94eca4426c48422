// What the overview alone reads: whether scheduling keeps up, and the waits of a week.
import { queryOptions } from "@tanstack/react-query";

import { api, contentOf } from "@/lib/api/request";

const HOUR = 3_600_000;

/** Whether scheduling keeps up. */
export const systemQuery = queryOptions({
  queryKey: ["capacity", "system"],
  queryFn: ({ signal }) => contentOf(api.GET("/v1/system", { signal })),
});

const CYCLES_MINUTE = 60_000;
const CYCLES_HOURS = 1;

/** How long the cycles of the last hour took. */
export const cyclesOfHourQuery = queryOptions({
  queryKey: ["cycles", "hour"],
  queryFn: ({ signal }) => {
    const since = new Date(Math.floor(Date.now() / CYCLES_MINUTE) * CYCLES_MINUTE - CYCLES_HOURS * HOUR).toISOString();
    return contentOf(api.GET("/v1/cycles/summary", { params: { query: { since, points: 2 } }, signal }));
  },
  staleTime: CYCLES_MINUTE,
  refetchInterval: CYCLES_MINUTE,
});

const WEEK_DAYS = 7;
const TEN_MINUTES = 600_000;
const DAY = 86_400_000;

/** The waits of the last week, to compare those of the last day with; they change slowly. */
export const weekOfWaitsQuery = queryOptions({
  queryKey: ["waits", "week"],
  queryFn: ({ signal }) => {
    const since = new Date(Date.now() - WEEK_DAYS * DAY).toISOString();
    return contentOf(api.GET("/v1/waits", { params: { query: { since } }, signal }));
  },
  staleTime: TEN_MINUTES,
  refetchInterval: TEN_MINUTES,
});
