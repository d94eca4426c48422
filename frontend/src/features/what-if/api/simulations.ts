// Trying out changes, and making them.
import { queryOptions } from "@tanstack/react-query";

import { api, contentOf, writtenOf } from "@/lib/api/request";
import type { Simulation, SimulationRecord, WorkloadObject } from "@/lib/api/types";

const MAX_LOCAL_QUEUES = 1000;
const YAML = { "Content-Type": "application/yaml" };

export interface Others {
  priority: string;
  remove: string;
  cordon: string;
}

export interface Asked {
  documents: string;
  others: Others;
  /** What it is called in the list of simulations. */
  title: string;
}

/** Simulates applying these documents and the other changes, and records that; nothing is applied. */
export function tryOut({ documents, others, title }: Asked): Promise<Simulation> {
  return simulate(documents, others, { record: true, title: title || undefined });
}

/** A recorded simulation once more, on the state that it began with. */
export function replayQuery(id: string, position: number, { documents, others }: Pick<Asked, "documents" | "others">) {
  return queryOptions({
    queryKey: ["replay", id],
    queryFn: () => simulate(documents, others, { at: String(position) }),
    staleTime: Infinity,
    retry: false,
  });
}

function simulate(documents: string, others: Others, more: { record?: boolean; title?: string; at?: string }): Promise<Simulation> {
  const query = { delete: others.remove || undefined, priority: others.priority || undefined, cordon: others.cordon || undefined, ...more };
  return contentOf(api.POST("/v1/simulations", { params: { query }, headers: YAML, body: documents as never, bodySerializer: asText }));
}

/** A recorded simulation with its documents. */
export function recordQuery(id: string) {
  return queryOptions({
    queryKey: ["simulation", id],
    queryFn: ({ signal }): Promise<SimulationRecord> => contentOf(api.GET("/v1/simulations/{simulation}", { params: { path: { simulation: id } }, signal })),
  });
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
