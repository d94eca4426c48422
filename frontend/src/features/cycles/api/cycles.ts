// Reading what workers planned, and running it again.
import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";

import { api, contentOf } from "@/lib/api/request";

const PAGE_SIZE = 100;

/** Pages of cycles, newest first; of one partition, or of all. */
export function cyclesQuery(partition: string) {
  return infiniteQueryOptions({
    queryKey: ["cycles", partition],
    queryFn: ({ pageParam, signal }) => {
      const query = { partition: partition || undefined, limit: PAGE_SIZE, before: pageParam || undefined };
      return contentOf(api.GET("/v1/cycles", { params: { query }, signal }));
    },
    initialPageParam: "",
    getNextPageParam: (page) => page.next ?? undefined,
  });
}

/** One cycle with its input and its decisions in order. */
export function cycleQuery(id: string) {
  return queryOptions({
    queryKey: ["cycle", id],
    queryFn: ({ signal }) => contentOf(api.GET("/v1/cycles/{cycle}", { params: { path: { cycle: id }, query: { at: "now" } }, signal })),
  });
}

/** Runs a cycle again on the same input and compares. */
export function runAgain(id: string) {
  return contentOf(api.GET("/v1/cycles/{cycle}/replay", { params: { path: { cycle: id }, query: { at: "now" } } }));
}
