// Alerts grouped by cause, of which several pages show a part.
import { queryOptions } from "@tanstack/react-query";

import { api, contentOf } from "./request";

/** What needs attention now, the most severe and most costly first. */
export const causesQuery = queryOptions({
  queryKey: ["alerts"],
  queryFn: ({ signal }) => contentOf(api.GET("/v1/attention", { signal })),
});
