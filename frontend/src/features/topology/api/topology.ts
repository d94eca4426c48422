// Reading topologies and their maps.
import { keepPreviousData, queryOptions } from "@tanstack/react-query";

import { knownLog } from "@/lib/api/position";
import { api, contentOf } from "@/lib/api/request";

import { changedMap, type HostMap, readMap } from "../model/columns";

/** What an admin does to take a host out of use. */
const CLOSING = "node.cordoned,node.drain_started";

/** The topologies there are. */
export const topologiesQuery = queryOptions({
  queryKey: ["objects", "topologies"],
  queryFn: ({ signal }) => contentOf(api.GET("/v1/topologies", { params: { query: { defaults: true } }, signal })),
});

/** The map of one topology; after the first time only the rows that changed are read. */
export function mapQuery(name: string) {
  const queryKey = ["topology", name];
  return queryOptions({
    queryKey,
    queryFn: async ({ signal, client }): Promise<HostMap> => {
      const known = client.getQueryData<HostMap>(queryKey);
      const log = knownLog();
      // Positions of another log, such as a restored one, say nothing.
      const before = known?.log === log ? known : undefined;
      const query = before ? { changedSince: before.position } : {};
      const columns = await contentOf(api.GET("/v1/topologies/{name}/map", { params: { path: { name }, query }, signal }));
      return before ? changedMap(before, columns) : readMap(columns, log);
    },
    // Rows that did not change stay the same objects anyway.
    structuralSharing: false,
    enabled: name !== "",
  });
}

/** The workloads on each host of a domain. */
export function domainWorkloadsQuery(name: string, path: string, enabled: boolean) {
  return queryOptions({
    queryKey: ["topology", name, "workloads", path],
    queryFn: async ({ signal }) => (await contentOf(api.GET("/v1/topologies/{name}/workloads", { params: { path: { name }, query: { domain: path } }, signal }))).hosts,
    enabled,
  });
}

/** The largest gang of one kind of pod that every level takes now. */
export function fitsQuery(name: string, pod: string) {
  return queryOptions({
    queryKey: ["topology", name, "fits", pod],
    queryFn: ({ signal }) => contentOf(api.GET("/v1/topologies/{name}/fits", { params: { path: { name }, query: { pod } }, signal })),
    placeholderData: keepPreviousData,
  });
}

/** The fits from some time until now; not under a topic, for the past does not change. */
export function fragmentationQuery(name: string, pod: string, period: { since: string; until?: string }) {
  return queryOptions({
    queryKey: ["fragmentation", name, pod, period],
    queryFn: ({ signal }) =>
      contentOf(api.GET("/v1/topologies/{name}/fragmentation", { params: { path: { name }, query: { pod, ...period } }, signal })),
    placeholderData: keepPreviousData,
  });
}

/** The domains closest to fitting a workload, with the workloads that block it there. */
export function nearFitsQuery(name: string, workload: string) {
  return queryOptions({
    queryKey: ["topology", name, "near", workload],
    queryFn: ({ signal }) =>
      contentOf(api.GET("/v1/topologies/{name}/near-fits", { params: { path: { name }, query: { workload } }, signal })),
    enabled: workload !== "",
  });
}

/** The workloads that wait, as many as one would choose from. */
export const waitingQuery = queryOptions({
  queryKey: ["workloads", "waiting for hosts"],
  queryFn: ({ signal }) => contentOf(api.GET("/v1/workloads", { params: { query: { phase: "Pending", limit: 100 } }, signal })),
});

/** The last cordon or drain of a host, also after it was taken back. */
export function closedQuery(name: string) {
  return queryOptions({
    queryKey: ["objects", "closed", name],
    queryFn: ({ signal }) =>
      contentOf(api.GET("/v1/events", { params: { query: { stream: `node/${name}`, type: CLOSING, limit: 1 } }, signal })),
  });
}
