// Reading the tree of queues, one queue's line, and stopping or resuming it.
import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";

import { type ActionInput, actionBody } from "@/lib/actions";
import { api, contentOf } from "@/lib/api/request";
import { type TimeRange, apiBounds } from "@/lib/time-range";

const ONE = "/v1/clusterqueues/{name}";
const LOCAL = "/v1/namespaces/{namespace}/localqueues/{name}";
const WITH_QUOTA = "QuotaReserved,Starting,Running,Evicting";
const STILL_THERE = "QuotaReserved,Starting,Running";
const PAGE_SIZE = 200;
const MAX_LOCAL_QUEUES = 1000;
const POINTS = 49;

/** The whole tree of cohorts and ClusterQueues. */
export const queueTreeQuery = queryOptions({
  queryKey: ["queues"],
  queryFn: ({ signal }) => contentOf(api.GET("/v1/queues", { signal })),
});

/** The pending workloads of a ClusterQueue, in order, page by page. */
export function pendingQuery(name: string) {
  return infiniteQueryOptions({
    queryKey: ["pending", name],
    queryFn: ({ pageParam, signal }) =>
      contentOf(api.GET(`${ONE}/pendingworkloads`, { params: { path: { name }, query: { limit: PAGE_SIZE, offset: pageParam, expectedStarts: true } }, signal })),
    initialPageParam: 0,
    getNextPageParam: (page, pages) => (page.items.length < PAGE_SIZE ? undefined : pages.length * PAGE_SIZE),
  });
}

/** The workloads with quota in a ClusterQueue, most GPUs first, page by page. */
export function admittedQuery(name: string) {
  return infiniteQueryOptions({
    queryKey: ["workloads", "admitted", name],
    queryFn: ({ pageParam, signal }) => {
      const query = { filter: `clusterQueue:=${name} phase:${WITH_QUOTA}`, orderBy: "-gpu", limit: PAGE_SIZE, continue: pageParam || undefined };
      return contentOf(api.GET("/v1/workload-rows", { params: { query }, signal }));
    },
    initialPageParam: "",
    getNextPageParam: (page) => page.continue,
  });
}

/** The workloads that draining a queue would evict: those with quota through it, the first page. */
export function leavingQuery({ namespace, name }: Stoppable, isAsked: boolean) {
  const query = { phase: STILL_THERE, limit: PAGE_SIZE };
  return queryOptions({
    queryKey: ["workloads", "leaving", namespace ?? "", name],
    queryFn: ({ signal }) =>
      namespace === undefined
        ? contentOf(api.GET("/v1/workloads", { params: { query: { ...query, clusterQueue: name } }, signal }))
        : contentOf(api.GET("/v1/namespaces/{namespace}/workloads", { params: { path: { namespace }, query: { ...query, queueName: name } }, signal })),
    enabled: isAsked,
  });
}

/** Every LocalQueue with its status, which the tree does not have. */
export const localQueuesQuery = queryOptions({
  queryKey: ["queue", "localqueues"],
  queryFn: ({ signal }) => contentOf(api.GET("/v1/localqueues", { params: { query: { limit: MAX_LOCAL_QUEUES, defaults: true } }, signal })),
});

/** What a ClusterQueue used at instants of a time range; from `since` on where it is given. */
export function usageQuery(name: string, range: TimeRange, since?: string) {
  return queryOptions({
    queryKey: ["usage", name, range, since],
    queryFn: ({ signal }) => {
      const query = { points: POINTS, ...apiBounds(range, Date.now()), ...(since && { since }) };
      return contentOf(api.GET(`${ONE}/usage`, { params: { path: { name }, query }, signal }));
    },
    placeholderData: (before) => before,
  });
}

/** How long workloads were pending that got quota within a time range. */
export function waitTimesQuery(name: string, range: TimeRange) {
  return queryOptions({
    queryKey: ["queue", "waits", name, range],
    queryFn: ({ signal }) => contentOf(api.GET("/v1/waits", { params: { query: { clusterQueue: name, ...apiBounds(range, Date.now()) } }, signal })),
    placeholderData: (before) => before,
  });
}

/** The ClusterQueue as it was configured. */
export function definitionQuery(name: string) {
  return queryOptions({
    queryKey: ["objects", "clusterqueues", name],
    queryFn: ({ signal }) => contentOf(api.GET(ONE, { params: { path: { name } }, signal })),
  });
}

export type QueueAction = "stop" | "resume" | "drain";

/** A queue as far as stopping it goes; a namespace says that it is a LocalQueue. */
export interface Stoppable {
  namespace?: string;
  name: string;
  stopPolicy: string;
}

/** Stops, resumes or drains a queue. */
export function actOnQueue(action: QueueAction, { namespace, name }: Stoppable, input: ActionInput): Promise<unknown> {
  const body = { ...actionBody(input), policy: action === "drain" ? ("HoldAndDrain" as const) : ("Hold" as const) };
  return namespace === undefined
    ? contentOf(api.POST(`${ONE}/${action}`, { params: { path: { name } }, body }))
    : contentOf(api.POST(`${LOCAL}/${action}`, { params: { path: { namespace, name } }, body }));
}
