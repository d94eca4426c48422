// Queries of stuck workloads, and bulk actions on workloads.
import { queryOptions } from "@tanstack/react-query";

import { api, contentOf } from "@/lib/api/request";
import type { Batch, BulkResult, Phase, StuckWorkload } from "@/lib/api/types";

import { type BulkActionVerb, type StuckFilters, sinceAt } from "../model/stuck-workloads";

const MAX_ITEMS = 1000;

/** Stuck workloads of one phase, or of all, that match the filters, longest stuck first. */
export function stuckWorkloadsQuery({ cause, namespace, clusterQueue, name, since }: StuckFilters, phase?: Phase) {
  const query = {
    phase,
    cause: cause || undefined,
    namespace: namespace || undefined,
    clusterQueue: clusterQueue || undefined,
    name: name || undefined,
    limit: MAX_ITEMS,
  };
  return queryOptions({
    queryKey: ["workloads", "stuck", query, since],
    queryFn: ({ signal }) =>
      contentOf(api.GET("/v1/stuck-workloads", { params: { query: { ...query, since: sinceAt(since, Date.now()) } }, signal })),
  });
}

/** One case, with what its workload would do right after the action that helps. */
export function stuckWorkloadQuery(key: string) {
  const [namespace = "", name = ""] = key.split("/");
  return queryOptions({
    queryKey: ["workload", key, "stuck"],
    queryFn: ({ signal }) =>
      contentOf(api.GET("/v1/namespaces/{namespace}/workloads/{name}/stuck", { params: { path: { namespace, name } }, signal })),
  });
}

export interface Asked {
  verb: BulkActionVerb;
  reason: string;
  expiresAt?: string;
  cases: StuckWorkload[];
  position?: number;
}

/** Previews the action on each workload; nothing is changed. */
export function preview(asked: Asked): Promise<BulkResult> {
  return contentOf(api.POST("/v1/batches", { body: { ...bodyOf(asked), dryRun: "All" } }));
}

/** Does it to each that has not changed since the preview. */
export function actOnAll(asked: Asked): Promise<BulkResult> {
  return contentOf(api.POST("/v1/batches", { body: bodyOf(asked) }));
}

/** The results of a batch, and the present phase of each workload. */
export function batchQuery(batch: string) {
  return queryOptions({
    queryKey: ["workloads", "batch", batch],
    queryFn: ({ signal }): Promise<Batch> => contentOf(api.GET("/v1/batches/{batch}", { params: { path: { batch } }, signal })),
  });
}

/** Undoes a batch where no later change was made; without a reason the log names the batch. */
export function undoBatch(batch: string, reason: string): Promise<BulkResult> {
  return contentOf(api.POST("/v1/batches/{batch}/undo", { params: { path: { batch } }, body: { reason } }));
}

function bodyOf({ verb, reason, expiresAt, cases, position }: Asked) {
  return {
    verb,
    reason: reason || "preview",
    workloads: cases.map(({ workload, uid }) => ({ workload, uid })),
    ...(expiresAt !== undefined && { expiresAt }),
    ...(position !== undefined && { position }),
  };
}
