// Taking hosts out of use and back into it; several pages offer it.
import { queryOptions } from "@tanstack/react-query";

import { api, contentOf } from "./request";

export type HostAction = "cordon" | "drain" | "uncordon";

/** The workloads on a host, and what draining it now would do to each. */
export function drainPreviewQuery(name: string) {
  return queryOptions({
    queryKey: ["topology", "drain preview", name],
    queryFn: ({ signal }) => contentOf(api.GET("/v1/nodes/{name}/drain-preview", { params: { path: { name } }, signal })),
  });
}

/** Takes a host out of use for new pods, moves its pods away, or takes it back into use. */
export function actOnHost(action: HostAction, name: string, reason: string): Promise<unknown> {
  return contentOf(api.POST(`/v1/nodes/{name}/${action}`, { params: { path: { name } }, body: { reason } }));
}
