// Trying out changes, and making them.
import { queryOptions } from "@tanstack/react-query";

import { api, contentOf, writtenOf } from "@/lib/api/request";
import type { Simulation, WorkloadObject } from "@/lib/api/types";

const MAX_LOCAL_QUEUES = 1000;
const YAML = { "Content-Type": "application/yaml" };

export interface Others {
  priority: string;
  remove: string;
  cordon: string;
}

/** Simulates applying these documents and the other changes; nothing is written. */
export async function tryOut(documents: string, others: Others): Promise<Simulation> {
  const query = { delete: others.remove || undefined, priority: others.priority || undefined, cordon: others.cordon || undefined };
  const call = api.POST("/v1/simulations", { params: { query }, headers: YAML, body: documents as never, bodySerializer: asText });
  return contentOf(call);
}

/** Applies the documents in earnest. */
export function applyDocuments(documents: string) {
  return writtenOf(api.POST("/v1/apply", { headers: YAML, body: documents as never, bodySerializer: asText }));
}

/** A workload to begin with. */
export function patternQuery(key: string) {
  const [namespace = "", name = ""] = key.split("/");
  return queryOptions({
    queryKey: ["workload", key],
    queryFn: async ({ signal }): Promise<WorkloadObject> =>
      contentOf(api.GET("/v1/namespaces/{namespace}/workloads/{name}", { params: { path: { namespace, name } }, signal })),
    enabled: key !== "",
  });
}

/** The LocalQueues that can be submitted to, for the form. */
export const localQueuesOfQuery = queryOptions({
  queryKey: ["objects", "doors"],
  queryFn: ({ signal }) => contentOf(api.GET("/v1/localqueues", { params: { query: { limit: MAX_LOCAL_QUEUES, defaults: true } }, signal })),
});

/** The topologies with the levels that a workload can request, for the form. */
export const topologiesQuery = queryOptions({
  queryKey: ["objects", "topologies"],
  queryFn: ({ signal }) => contentOf(api.GET("/v1/topologies", { params: { query: { defaults: true } }, signal })),
});

function asText(body: unknown): string {
  return body as string;
}
