// Counts, alerts and recent events, of which several pages show a part.
import { queryOptions } from "@tanstack/react-query";

import { api, contentOf } from "./request";

/** Some alerts begin by time alone, such as pods that no executor reports: no event tells of them. */
const ALERTS_MILLISECONDS = 15_000;

export const overviewQuery = queryOptions({
  queryKey: ["overview"],
  queryFn: ({ signal }) => contentOf(api.GET("/v1/overview", { signal })),
  refetchInterval: ALERTS_MILLISECONDS,
});
