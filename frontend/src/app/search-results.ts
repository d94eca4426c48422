// What the palette finds by name on the server.
import { queryOptions } from "@tanstack/react-query";

import { api, contentOf } from "@/lib/api/request";

const MAX_RESULTS = 8;

export interface SearchResults {
  workloads: string[];
  queues: string[];
}

/** Workloads and ClusterQueues with the text in their names. */
export function searchQuery(text: string) {
  return queryOptions({
    queryKey: ["objects", "found", text],
    queryFn: async ({ signal }): Promise<SearchResults> => {
      const [workloads, queues] = await Promise.all([
        contentOf(api.GET("/v1/workloads", { params: { query: { name: text.split("/").at(-1) || undefined, limit: MAX_RESULTS } }, signal })),
        contentOf(api.GET("/v1/clusterqueues", { signal })),
      ]);
      return {
        workloads: workloads.items.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`),
        queues: queues.items.map(({ metadata }) => metadata.name).filter((name) => name.includes(text)),
      };
    },
    staleTime: 10_000,
    placeholderData: (previous) => previous,
  });
}
