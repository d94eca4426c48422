// What the first page reads.
import { queryOptions } from "@tanstack/react-query";

import { api, contentOf } from "@/lib/api/request";

export const overviewQuery = queryOptions({
  queryKey: ["overview"],
  queryFn: ({ signal }) => contentOf(api.GET("/v1/overview", { signal })),
});
