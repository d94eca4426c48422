// Reading workloads as rows of the grid: pages, groups with their sums, suggestions and CSV.
import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";

import { type ActionInput, type Outcome, actionBody } from "@/lib/actions";
import { api, contentOf, download } from "@/lib/api/request";
import type { SelectedWorkload } from "@/lib/api/types";

import type { WorkloadAction } from "../model/actions";
import { type GroupName, NEWEST_FIRST } from "../model/grid";

const PAGE_SIZE = 100;
const MAX_GROUPS = 200;
const MAX_SUGGESTIONS = 8;

/** The pages of the list in an order; the first one counts all rows. */
export function rowsQuery(filter: string, order: string) {
  return infiniteQueryOptions({
    queryKey: ["workloads", "rows", filter, order],
    queryFn: ({ pageParam, signal }) => {
      const query = { filter, orderBy: order, limit: PAGE_SIZE, continue: pageParam || undefined };
      return contentOf(api.GET("/v1/workload-rows", { params: { query }, signal }));
    },
    initialPageParam: "",
    getNextPageParam: (page) => page.continue,
    placeholderData: keepPreviousData,
  });
}

/** The groups of the list with the sums of each. */
export function groupsQuery(filter: string, by: GroupName) {
  return queryOptions({
    queryKey: ["workloads", "groups", filter, by],
    queryFn: ({ signal }) => contentOf(api.GET("/v1/workload-rows/groups", { params: { query: { filter, by, limit: MAX_GROUPS, verdicts: true } }, signal })),
    placeholderData: keepPreviousData,
  });
}

/** Values of a field that contain a text, with how many of the workloads that match have each. */
export function valuesQuery(filter: string, by: GroupName, part: string) {
  const whole = part === "" || by === "priority" || by === "phase" ? filter : `${filter} ${by}:${part}`;
  return queryOptions({
    // No topic of the stream: suggestions need not follow every event.
    queryKey: ["suggestions", whole, by],
    queryFn: ({ signal }) => contentOf(api.GET("/v1/workload-rows/groups", { params: { query: { filter: whole, by, limit: MAX_SUGGESTIONS } }, signal })),
    staleTime: 10_000,
    placeholderData: keepPreviousData,
  });
}

/** Saves the rows of the list as a file of comma-separated values. */
export function exportRows(filter: string, order: string = NEWEST_FIRST): Promise<void> {
  return download("/v1/workload-rows/csv", { filter, orderBy: order }, "workloads.csv");
}

/** All workloads that match now, as one action on them takes them. */
export async function selectAll(filter: string, order: string): Promise<SelectedWorkload[]> {
  return (await contentOf(api.GET("/v1/workload-rows/selection", { params: { query: { filter, orderBy: order } } }))).items;
}

/** Takes an action on many at once; the outcomes are in their order. */
export async function actOnMany(action: WorkloadAction, workloads: readonly SelectedWorkload[], input: ActionInput): Promise<Outcome[]> {
  const body = { verb: action, ...actionBody(input), workloads: workloads.map(({ workload, uid }) => ({ workload, uid })) };
  const { items } = await contentOf(api.POST("/v1/batches", { body }));
  const found = new Map(items.map((item) => [item.workload, item]));
  return workloads.map(({ workload }) => {
    const item = found.get(workload);
    return item?.outcome === "done" ? {} : { error: new Error(item?.reason ?? "It can't be changed by you.") };
  });
}

/** The first rows of a group. */
export function firstRowsQuery(filter: string, order: string) {
  return queryOptions({
    queryKey: ["workloads", "first rows", filter, order],
    queryFn: ({ signal }) => contentOf(api.GET("/v1/workload-rows", { params: { query: { filter, orderBy: order, limit: PAGE_SIZE } }, signal })),
  });
}
