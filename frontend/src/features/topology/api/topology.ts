// Reading topologies and their maps, and cordoning hosts.
import { queryOptions } from "@tanstack/react-query";

import { api, contentOf } from "@/lib/api/request";

/** The topologies there are. */
export const topologiesQuery = queryOptions({
  queryKey: ["objects", "topologies"],
  queryFn: ({ signal }) => contentOf(api.GET("/v1/topologies", { signal })),
});

/** The map of one topology. */
export function mapQuery(name: string) {
  return queryOptions({
    queryKey: ["topology", name],
    queryFn: ({ signal }) => contentOf(api.GET("/v1/topologies/{name}/map", { params: { path: { name } }, signal })),
    enabled: name !== "",
  });
}

export type HostAction = "cordon" | "uncordon";

/** Takes a host out of use for new pods, or back into it. */
export function actOnHost(action: HostAction, name: string, reason: string): Promise<unknown> {
  return contentOf(api.POST(`/v1/nodes/{name}/${action}`, { params: { path: { name } }, body: { reason } }));
}
