// Reading what is configured, checking and previewing changes of it, and making them.
import { queryOptions } from "@tanstack/react-query";

import { api, contentOf, writtenOf } from "@/lib/api/request";
import type { ApplyResults, References, Simulation } from "@/lib/api/types";

import { keyOf, type Manifest } from "../model/documents";

/** Every kind that is configured, with its address, in the order in which they build on each other. */
export const KINDS = {
  ClusterQueue: "/v1/clusterqueues",
  LocalQueue: "/v1/localqueues",
  Cohort: "/v1/cohorts",
  ResourceFlavor: "/v1/resourceflavors",
  Topology: "/v1/topologies",
  WorkloadPriorityClass: "/v1/workloadpriorityclasses",
  AdmissionCheck: "/v1/admissionchecks",
  Node: "/v1/nodes",
  DisruptionBudget: "/v1/disruptionbudgets",
  LimitRange: "/v1/limitranges",
  RuntimeClass: "/v1/runtimeclasses",
  Namespace: "/v1/namespaces",
  CronJob: "/v1/cronjobs",
  TrainingRuntime: "/v1/trainingruntimes",
  ClusterTrainingRuntime: "/v1/clustertrainingruntimes",
  ProvisioningRequestConfig: "/v1/provisioningrequestconfigs",
  Webhook: "/v1/webhooks",
  Configuration: "/v1/configurations",
} as const;
export type Kind = keyof typeof KINDS;

/** The kind of that name in any case, as streams write it; undefined of what is not configured here. */
export function kindNamed(name: string): Kind | undefined {
  return (Object.keys(KINDS) as Kind[]).find((kind) => kind.toLowerCase() === name.toLowerCase());
}

const MAX_ITEMS = 1000;
const MAX_CHANGES = 200;
const asText = { headers: { "Content-Type": "application/yaml" }, bodySerializer: (body: unknown) => body as string };

/** The objects of one kind, by name. */
export function objectsQuery(kind: Kind) {
  return queryOptions({
    queryKey: ["objects", kind],
    queryFn: async ({ signal }): Promise<Manifest[]> => {
      // All lists have the same shape; only what is in the specs differs.
      const address = KINDS[kind] as (typeof KINDS)["ClusterQueue"];
      const found = await contentOf(api.GET(address, { params: { query: { limit: MAX_ITEMS } }, signal }));
      return (found.items as unknown as Manifest[]).map((item) => ({ ...item, kind }));
    },
  });
}

/** How many objects there are of each kind, all at one position of the log. */
export const countsQuery = queryOptions({
  queryKey: ["objects", "counts"],
  queryFn: async ({ signal }): Promise<ReadonlyMap<string, number>> => {
    const { items } = await contentOf(api.GET("/v1/kinds", { signal }));
    return new Map(items.map(({ kind, count }) => [kind, count]));
  },
});

/** What lint says about all that is configured. */
export const adviceQuery = queryOptions({
  queryKey: ["objects", "advice"],
  queryFn: ({ signal }) => contentOf(api.GET("/v1/lint", { signal })),
});

/** The last changes of objects of one kind, newest first. */
export function lastChangesQuery(kind: Kind) {
  return queryOptions({
    queryKey: ["history", "last", kind],
    queryFn: ({ signal }) => contentOf(api.GET("/v1/history", { params: { query: { kind, limit: MAX_CHANGES } }, signal })),
  });
}

/** What uses an object: other objects, and workloads with quota. */
export function referencesQuery(stream: string) {
  return queryOptions({
    queryKey: ["objects", "references", stream],
    queryFn: ({ signal }): Promise<References> => contentOf(api.GET("/v1/references", { params: { query: { stream } }, signal })),
    enabled: stream !== "",
  });
}

/** The names of the objects of one kind. */
export function namesQuery(kind: Kind) {
  return queryOptions({ ...objectsQuery(kind), select: (items: Manifest[]) => items.map(keyOf) });
}

/** Validates documents and reports lint warnings; nothing is written. */
export function checkQuery(documents: string, isAllowed: boolean) {
  return queryOptions({
    queryKey: ["objects", "check", documents],
    queryFn: ({ signal }): Promise<ApplyResults> =>
      writtenOf(api.POST("/v1/apply", { params: { query: { dryRun: "All" } }, body: documents as never, signal, ...asText })),
    enabled: isAllowed && documents.trim() !== "",
    gcTime: 0,
  });
}

/** The workloads that would start or be evicted if documents were applied; nothing is written. */
export function previewQuery(documents: string) {
  return queryOptions({
    queryKey: ["objects", "preview", documents],
    queryFn: ({ signal }): Promise<Simulation> => contentOf(api.POST("/v1/simulations", { body: documents as never, signal, ...asText })),
    gcTime: 0,
  });
}

/** Applies documents; objects that say their resourceVersion are changed only from that one. */
export function applyDocuments(documents: string, reason: string): Promise<ApplyResults> {
  return writtenOf(api.POST("/v1/apply", { params: { query: { reason } }, body: documents as never, ...asText }));
}
