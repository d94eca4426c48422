// Reading the tree of queues, one queue's line, and stopping or resuming it.
import { queryOptions } from "@tanstack/react-query";

import { type ActionInput, actionBody } from "@/lib/actions";
import { api, contentOf } from "@/lib/api/request";

const ONE = "/v1/clusterqueues/{name}";
const WITH_QUOTA = "QuotaReserved,Starting,Running,Evicting";
const SHOWN = 200;

/** The whole tree of cohorts and ClusterQueues. */
export const queueTreeQuery = queryOptions({
  queryKey: ["queues"],
  queryFn: ({ signal }) => contentOf(api.GET("/v1/queues", { signal })),
});

/** Who waits in a ClusterQueue, in order. */
export function pendingQuery(name: string) {
  return queryOptions({
    queryKey: ["pending", name],
    queryFn: ({ signal }) =>
      contentOf(api.GET(`${ONE}/pendingworkloads`, { params: { path: { name }, query: { limit: SHOWN } }, signal })),
  });
}

/** Who has quota in a ClusterQueue. */
export function admittedQuery(name: string) {
  const query = { clusterQueue: name, phase: WITH_QUOTA, limit: SHOWN };
  return queryOptions({
    queryKey: ["workloads", "admitted", name],
    queryFn: ({ signal }) => contentOf(api.GET("/v1/workloads", { params: { query }, signal })),
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

/** Stops, resumes or drains a ClusterQueue. */
export function actOnQueue(action: QueueAction, name: string, input: ActionInput): Promise<unknown> {
  const params = { path: { name } };
  switch (action) {
    case "stop":
      return contentOf(api.POST(`${ONE}/stop`, { params, body: { ...actionBody(input), policy: "Hold" } }));
    case "drain":
      return contentOf(api.POST(`${ONE}/drain`, { params, body: { ...actionBody(input), policy: "HoldAndDrain" } }));
    case "resume":
      return contentOf(api.POST(`${ONE}/resume`, { params, body: { reason: input.reason } }));
  }
}
