// Reading the ledger of preemptions.
import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";

import { api, contentOf } from "@/lib/api/request";

const PAGE_SIZE = 50;

export interface PreemptionFilter {
  workload: string;
  clusterQueue: string;
  cohort: string;
  /** The rule of one of the victims. */
  rule: string;
  /** An instant; rounds decided before it are left out. */
  since: string;
  /** An instant, or empty for now; rounds decided after it are left out. */
  until: string;
}

/** Pages of rounds, newest first, of one workload, queue, cohort or time where given. */
export function roundsQuery({ workload, clusterQueue, cohort, rule, since, until }: PreemptionFilter) {
  return infiniteQueryOptions({
    queryKey: ["preemptions", { workload, clusterQueue, cohort, rule, since, until }],
    queryFn: ({ pageParam, signal }) => {
      const query = {
        workload: workload || undefined,
        clusterQueue: clusterQueue || undefined,
        cohort: cohort || undefined,
        rule: rule || undefined,
        since: since || undefined,
        until: until || undefined,
        limit: PAGE_SIZE,
        continue: pageParam || undefined,
      };
      return contentOf(api.GET("/v1/preemptions", { params: { query }, signal }));
    },
    initialPageParam: "",
    getNextPageParam: (page) => page.continue ?? undefined,
  });
}

/** One round from decision to end. */
export function roundQuery(id: string) {
  return queryOptions({
    queryKey: ["preemptions", "round", id],
    queryFn: ({ signal }) => contentOf(api.GET("/v1/preemptions/{round_id}", { params: { path: { round_id: id } }, signal })),
  });
}

/** What the log has of a round, the newest first, with the payload of each event. */
export function roundEventsQuery(id: string) {
  return queryOptions({
    queryKey: ["preemptions", "events", id],
    queryFn: ({ signal }) => contentOf(api.GET("/v1/events", { params: { query: { stream: `round/${id}`, limit: PAGE_SIZE } }, signal })),
  });
}

/** The rounds that led to one and those that followed from it. */
export function chainQuery(id: string) {
  return queryOptions({
    queryKey: ["preemptions", "chain", id],
    queryFn: ({ signal }) => contentOf(api.GET("/v1/preemptions/{round_id}/chain", { params: { path: { round_id: id } }, signal })),
  });
}
