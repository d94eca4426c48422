// Reading the ledger of preemptions.
import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";

import { api, contentOf } from "@/lib/api/request";

const PAGE_SIZE = 50;

/** Pages of rounds, newest first, of one workload or queue where given. */
export function roundsQuery(workload: string, clusterQueue: string) {
  return infiniteQueryOptions({
    queryKey: ["preemptions", { workload, clusterQueue }],
    queryFn: ({ pageParam, signal }) => {
      const query = {
        workload: workload || undefined,
        clusterQueue: clusterQueue || undefined,
        limit: PAGE_SIZE,
        continue: pageParam || undefined,
      };
      return contentOf(api.GET("/v1/preemptions", { params: { query }, signal }));
    },
    initialPageParam: "",
    getNextPageParam: (page) => page.continue ?? undefined,
  });
}

/** One round from decision to end. */
export function roundQuery(id: string) {
  return queryOptions({
    queryKey: ["preemptions", "round", id],
    queryFn: ({ signal }) => contentOf(api.GET("/v1/preemptions/{round_id}", { params: { path: { round_id: id } }, signal })),
  });
}
