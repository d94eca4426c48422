// Executors, and the nodes that one of them serves.
import { queryOptions } from "@tanstack/react-query";

import { api, contentOf } from "@/lib/api/request";
import type { Executor, Node } from "@/lib/api/types";

import { selectorText } from "../model/executors";

const MAX_ITEMS = 1000;
const MAX_EVENTS = 50;
/** Signs of life are no events of the log. */
const LOOK_AGAIN = 15_000;

/** Every executor, by name. */
export const executorsQuery = queryOptions({
  queryKey: ["objects", "executors"],
  queryFn: async ({ signal }): Promise<Executor[]> => (await contentOf(api.GET("/v1/executors", { params: { query: { limit: MAX_ITEMS } }, signal }))).items,
  refetchInterval: LOOK_AGAIN,
});

/** True where pods run; without an executor, what started them reports over the API. */
export const runsWithoutQuery = queryOptions({
  queryKey: ["workloads", "running without an executor"],
  queryFn: async ({ signal }) => (await contentOf(api.GET("/v1/workloads", { params: { query: { phase: "Running", limit: 1 } }, signal }))).items.length > 0,
});

/** One executor. */
export function executorQuery(name: string) {
  return queryOptions({
    queryKey: ["objects", "executor", name],
    queryFn: ({ signal }): Promise<Executor> => contentOf(api.GET("/v1/executors/{name}", { params: { path: { name } }, signal })),
    refetchInterval: LOOK_AGAIN,
  });
}

/** One node. */
export function nodeQuery(name: string) {
  return queryOptions({
    queryKey: ["objects", "node", name],
    queryFn: ({ signal }): Promise<Node> => contentOf(api.GET("/v1/nodes/{name}", { params: { path: { name } }, signal })),
  });
}

/** The newest events of a node. */
export function nodeEventsQuery(name: string) {
  return queryOptions({
    queryKey: ["events", "node", name],
    queryFn: async ({ signal }) => (await contentOf(api.GET("/v1/events", { params: { query: { stream: `node/${name}`, limit: MAX_EVENTS } }, signal }))).items,
  });
}

/** The nodes that an executor serves. */
export function nodesQuery(executor: Executor | undefined) {
  const labelSelector = selectorText(executor?.spec.nodeSelector ?? {});
  return queryOptions({
    queryKey: ["objects", "nodes", labelSelector],
    queryFn: async ({ signal }): Promise<Node[]> => (await contentOf(api.GET("/v1/nodes", { params: { query: { labelSelector, limit: MAX_ITEMS } }, signal }))).items,
    enabled: labelSelector !== "",
  });
}

export type ExecutorAction = "drain" | "uncordon";

/** The workloads on all nodes of an executor, and what draining these now would do to each. */
export function executorDrainQuery(name: string) {
  return queryOptions({
    queryKey: ["topology", "executor drain", name],
    queryFn: ({ signal }) => contentOf(api.GET("/v1/executors/{name}/drain-preview", { params: { path: { name } }, signal })),
    retry: false,
  });
}

/** Moves the pods of all nodes of an executor away, or lets these nodes take pods again. */
export function actOnExecutor(action: ExecutorAction, name: string, reason: string): Promise<unknown> {
  return contentOf(api.POST(`/v1/executors/{name}/${action}`, { params: { path: { name } }, body: { reason } }));
}
