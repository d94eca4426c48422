// Taking hosts out of use and back into it; several pages offer it.
import { keepPreviousData, queryOptions } from "@tanstack/react-query";

import { api, contentOf } from "./request";

export type HostAction = "cordon" | "drain" | "uncordon";

/** The workloads on a host, and what draining it now would do to each. */
export function drainPreviewQuery(name: string) {
  return queryOptions({
    queryKey: ["topology", "drain preview", name],
    queryFn: ({ signal }) => contentOf(api.GET("/v1/nodes/{name}/drain-preview", { params: { path: { name } }, signal })),
  });
}

/** What of a host is allocated now, and to which workloads. */
export function nodeAllocationQuery(name: string) {
  return queryOptions({
    queryKey: ["topology", "allocation", name],
    queryFn: ({ signal }) => contentOf(api.GET("/v1/nodes/{name}/allocation", { params: { path: { name } }, signal })),
  });
}

const POINTS = 49;
const LOOK_AGAIN = 300_000;

/** What pods took of a host in the last day, or since an instant; many instants of the past, so it is read again every few minutes only. */
export function nodeUsageQuery(name: string, since?: string) {
  return queryOptions({
    queryKey: ["node usage", name, since],
    queryFn: ({ signal }) => contentOf(api.GET("/v1/nodes/{name}/usage", { params: { path: { name }, query: { points: POINTS, ...(since && { since }) } }, signal })),
    placeholderData: keepPreviousData,
    refetchInterval: LOOK_AGAIN,
  });
}

/** Takes a host out of use for new pods, moves its pods away, or takes it back into use. */
export function actOnHost(action: HostAction, name: string, reason: string): Promise<unknown> {
  return contentOf(api.POST(`/v1/nodes/{name}/${action}`, { params: { path: { name } }, body: { reason } }));
}
