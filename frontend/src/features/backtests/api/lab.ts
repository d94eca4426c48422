// The policy lab: quotas, what hosts offer, the change now, applying it, and predictions with their checks.
import { queryOptions } from "@tanstack/react-query";

import { api, contentOf, writtenOf } from "@/lib/api/request";
import type { ApplyResults, PredictionList, Simulation } from "@/lib/api/types";

import type { QueueManifest } from "../model/lab";
import { askForBacktest } from "./backtests";

const MAX_QUEUES = 1_000;
const asText = { headers: { "Content-Type": "application/yaml" }, bodySerializer: (body: unknown) => body as string };

/** Every ClusterQueue, by name, and the position of the log that they were read at. */
export function clusterQueuesQuery() {
  return queryOptions({
    queryKey: ["objects", "lab"],
    queryFn: async ({ signal }) => {
      const found = await contentOf(api.GET("/v1/clusterqueues", { params: { query: { limit: MAX_QUEUES } }, signal }));
      return { queues: found.items as unknown as QueueManifest[], position: Number(found.metadata.resourceVersion) };
    },
  });
}

/** What ready hosts offer of a resource, in base units. */
export function offeredQuery(resource: string) {
  return queryOptions({
    queryKey: ["capacity", "offered", resource],
    queryFn: async ({ signal }) => {
      const found = await contentOf(api.GET("/v1/usage", { params: { query: { resource, points: 2 } }, signal }));
      return found.points.at(-1)?.offered ?? 0;
    },
    enabled: resource !== "",
  });
}

/** The backtest of some manifests from an instant or a position to now; asked for once for each. */
export function labBacktestQuery(documents: string, from: string) {
  return queryOptions({
    queryKey: ["backtests", "asked", documents, from],
    queryFn: () => askForBacktest({ from, to: "", documents }),
    enabled: documents !== "",
    staleTime: Infinity,
    retry: false,
  });
}

/** The workloads that would start or be evicted now if documents were applied. */
export function effectNowQuery(documents: string) {
  return queryOptions({
    queryKey: ["objects", "preview", documents],
    queryFn: ({ signal }): Promise<Simulation> => contentOf(api.POST("/v1/simulations", { body: documents as never, signal, ...asText })),
    gcTime: 0,
  });
}

/** Applies documents as one change; those with a resourceVersion are changed only from that one. */
export function applyQuotas(documents: string, reason: string): Promise<ApplyResults> {
  return writtenOf(api.POST("/v1/apply", { params: { query: { reason } }, body: documents as never, ...asText }));
}

/** Records what a backtest predicts of waits, to be checked after so many seconds. */
export function recordPrediction(backtest: string, checkAfterSeconds: number, reason: string): Promise<PredictionList> {
  return contentOf(api.POST("/v1/backtests/{backtest}/prediction", { params: { path: { backtest } }, body: { checkAfterSeconds, reason } }));
}

/** All predictions, newest first. */
export function predictionsQuery() {
  return queryOptions({
    queryKey: ["predictions"],
    queryFn: ({ signal }) => contentOf(api.GET("/v1/predictions", { signal })),
  });
}
