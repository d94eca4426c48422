// Reading workloads and acting on them.
import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";

import { type ActionInput, actionBody } from "@/lib/actions";
import { api, contentOf } from "@/lib/api/request";

import { type Protection, type WorkloadAction, protectionBody } from "../model/actions";
import { phaseTimelineOf } from "../model/phase-timeline";

const PAGE_SIZE = 100;
const EARLIER_PAGE_SIZE = 500;
const MAX_CLASSES = 1000;
const ONE = "/v1/namespaces/{namespace}/workloads/{name}";

/** Why one is inactive, backs off or is held, with what it would do after the action that helps. */
export function caseQuery(key: string) {
  return queryOptions({
    queryKey: ["workload", key, "stuck"],
    queryFn: ({ signal }) => contentOf(api.GET(`${ONE}/stuck`, { params: { path: partsOf(key) }, signal })),
  });
}

/** One workload. */
export function workloadQuery(key: string) {
  return queryOptions({
    queryKey: ["workload", key],
    queryFn: ({ signal }) => contentOf(api.GET(ONE, { params: { path: partsOf(key) }, signal })),
  });
}

/** Why it waits, or that it does not. */
export function explanationQuery(key: string) {
  return queryOptions({
    queryKey: ["workload", key, "explanation"],
    queryFn: ({ signal }) => contentOf(api.GET(`${ONE}/explanation`, { params: { path: partsOf(key), query: { history: 0 } }, signal })),
  });
}

/** What happened to it: the latest at once, earlier pages on demand and longer, as they are wanted in numbers. */
export function timelineQuery(key: string) {
  return infiniteQueryOptions({
    queryKey: ["workload", key, "timeline"],
    queryFn: ({ pageParam, signal }) => {
      const query = pageParam === "" ? { limit: PAGE_SIZE } : { limit: EARLIER_PAGE_SIZE, continue: pageParam };
      return contentOf(api.GET(`${ONE}/timeline`, { params: { path: partsOf(key), query }, signal }));
    },
    initialPageParam: "",
    getNextPageParam: (page) => page.continue,
    select: ({ pages }) => phaseTimelineOf(pages),
  });
}

/** The newest preemptions that the workload had a part in. */
export function preemptionsQuery(key: string) {
  return queryOptions({
    queryKey: ["preemptions", "of workload", key],
    queryFn: ({ signal }) => contentOf(api.GET("/v1/preemptions", { params: { query: { workload: key, limit: 8 } }, signal })),
  });
}

/** Takes an action on one workload. */
export function act(action: WorkloadAction, key: string, input: ActionInput): Promise<unknown> {
  return contentOf(api.POST(`${ONE}/${action}`, { params: { path: partsOf(key) }, body: actionBody(input) }));
}

/** Sets the priority that protects one workload from preemption. */
export function protect(key: string, protection: Protection, reason: string): Promise<unknown> {
  return contentOf(api.POST(`${ONE}/protection`, { params: { path: partsOf(key) }, body: protectionBody(protection, reason) }));
}

/** The priority classes there are. */
export const priorityClassesQuery = queryOptions({
  queryKey: ["objects", "priority classes"],
  queryFn: ({ signal }) => contentOf(api.GET("/v1/workloadpriorityclasses", { params: { query: { limit: MAX_CLASSES } }, signal })),
});

/** Namespace and name of a key. */
export function partsOf(key: string): { namespace: string; name: string } {
  const [namespace = "", name = ""] = key.split("/");
  return { namespace, name };
}

/** The LocalQueue a workload was submitted to. */
export function localQueueQuery(namespace: string, name: string) {
  return queryOptions({
    queryKey: ["objects", "doors", `${namespace}/${name}`],
    queryFn: ({ signal }) => contentOf(api.GET("/v1/namespaces/{namespace}/localqueues/{name}", { params: { path: { namespace, name } }, signal })),
    enabled: name !== "",
  });
}
