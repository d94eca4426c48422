// Reading the ledger of preemptions.
import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";

import { api, contentOf } from "@/lib/api/request";

import type { Filters } from "../model/filters";

const PAGE_SIZE = 50;

export interface PreemptionFilter extends Filters {
  /** An instant; rounds decided before it are left out. */
  since: string;
  /** An instant, or empty for now; rounds decided after it are left out. */
  until: string;
}

/** Pages of rounds, newest first, of one workload, queue, cohort or time where given. */
export function roundsQuery(filter: PreemptionFilter) {
  return infiniteQueryOptions({
    queryKey: ["preemptions", filter],
    queryFn: ({ pageParam, signal }) => {
      const query = { ...parametersOf(filter), limit: PAGE_SIZE, continue: pageParam || undefined };
      return contentOf(api.GET("/v1/preemptions", { params: { query }, signal }));
    },
    initialPageParam: "",
    getNextPageParam: (page) => page.continue ?? undefined,
  });
}

/** What all rounds with these filters cost, by preemptor, pair of queues, queue and rule. */
export function summaryQuery(filter: PreemptionFilter) {
  return queryOptions({
    queryKey: ["preemptions", "summary", filter],
    queryFn: ({ signal }) => contentOf(api.GET("/v1/preemptions/summary", { params: { query: parametersOf(filter) }, signal })),
    placeholderData: keepPreviousData,
  });
}

function parametersOf({ workload, clusterQueue, preemptorQueue, victimQueue, cohort, rule, since, until }: PreemptionFilter) {
  return {
    workload: workload || undefined,
    clusterQueue: clusterQueue || undefined,
    preemptorQueue: preemptorQueue || undefined,
    victimQueue: victimQueue || undefined,
    cohort: cohort || undefined,
    rule: rule || undefined,
    since: since || undefined,
    until: until || undefined,
  };
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
