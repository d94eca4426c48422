// Submitting a workload, and what a forecast says of it before.
import { keepPreviousData, queryOptions } from "@tanstack/react-query";

import { api, contentOf, writtenOf } from "@/lib/api/request";
import type { Simulation, WorkloadObject } from "@/lib/api/types";

const YAML = { "Content-Type": "application/yaml" };
const MAX_OBJECTS = 1000;

/** What would become of the manifest if it were submitted now; the next question ends this one. */
export function forecastQuery(namespace: string, text: string) {
  return queryOptions({
    queryKey: ["forecast", namespace, text],
    queryFn: async ({ signal }): Promise<Simulation> => {
      const params = { path: { namespace }, query: { dryRun: "Admission" as const } };
      return (await contentOf(api.POST("/v1/namespaces/{namespace}/workloads", { params, headers: YAML, body: text as never, bodySerializer: asText, signal }))) as unknown as Simulation;
    },
    enabled: namespace !== "" && text.trim() !== "",
    placeholderData: keepPreviousData,
    staleTime: 5000,
  });
}

/** Submits the manifest. */
export function submitText(namespace: string, text: string) {
  return writtenOf(api.POST("/v1/namespaces/{namespace}/workloads", { params: { path: { namespace } }, headers: YAML, body: text as never, bodySerializer: asText }));
}

/** Ends a workload that was submitted by mistake. */
export function cancelWorkload(namespace: string, name: string) {
  return writtenOf(api.POST("/v1/namespaces/{namespace}/workloads/{name}/cancel", { params: { path: { namespace, name } }, body: { reason: "Submitted by mistake" } }));
}

/** The workload to submit once more. */
export function originQuery(key: string) {
  const [namespace = "", name = ""] = key.split("/");
  return queryOptions({
    queryKey: ["workload", key],
    queryFn: async ({ signal }): Promise<WorkloadObject> => contentOf(api.GET("/v1/namespaces/{namespace}/workloads/{name}", { params: { path: { namespace, name } }, signal })),
    enabled: key !== "",
  });
}

/** The LocalQueues one may see. */
export const localQueuesQuery = queryOptions({
  queryKey: ["objects", "doors"],
  queryFn: ({ signal }) => contentOf(api.GET("/v1/localqueues", { params: { query: { limit: MAX_OBJECTS, defaults: true } }, signal })),
});

/** The priority classes, for the form. */
export const priorityClassesQuery = queryOptions({
  queryKey: ["objects", "priority classes"],
  queryFn: ({ signal }) => contentOf(api.GET("/v1/workloadpriorityclasses", { params: { query: { limit: MAX_OBJECTS } }, signal })),
});

/** The largest gang of one kind of pod that every level of a topology takes now; it need not follow every event. */
export function gangQuery(topology: string, pod: string) {
  return queryOptions({
    queryKey: ["largest gang", topology, pod],
    queryFn: ({ signal }) => contentOf(api.GET("/v1/topologies/{name}/fits", { params: { path: { name: topology }, query: { pod } }, signal })),
    enabled: topology !== "" && pod !== "",
    placeholderData: keepPreviousData,
    staleTime: 5000,
    retry: false,
  });
}

/** The topologies with the levels that a workload can request, for the form. */
export const topologiesQuery = queryOptions({
  queryKey: ["objects", "topologies"],
  queryFn: ({ signal }) => contentOf(api.GET("/v1/topologies", { params: { query: { defaults: true } }, signal })),
});

function asText(body: unknown): string {
  return body as string;
}
