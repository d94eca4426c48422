// Counts, alerts and recent events, of which several pages show a part.
import { queryOptions } from "@tanstack/react-query";

import { api, contentOf } from "./request";

export const overviewQuery = queryOptions({
  queryKey: ["overview"],
  queryFn: ({ signal }) => contentOf(api.GET("/v1/overview", { signal })),
});
