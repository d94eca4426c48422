// Starts, watches and cancels backtests.
import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";

import { api, contentOf } from "@/lib/api/request";
import type { Backtest } from "@/lib/api/types";

import { isUnfinished } from "../model/backtests";

const YAML = { "Content-Type": "application/yaml" };
const LOOK_AGAIN = 1_000;
const PAGE_SIZE = 50;

/** Simulations of some kinds and of one author or of all, newest first; read again while one is being worked off. */
export function simulationsQuery(kind: string, author: string) {
  return infiniteQueryOptions({
    queryKey: ["backtests", "simulations", kind, author],
    queryFn: ({ pageParam, signal }) => {
      const query = { kind: kind || undefined, author: author || undefined, before: pageParam || undefined, limit: PAGE_SIZE };
      return contentOf(api.GET("/v1/simulations", { params: { query }, signal }));
    },
    initialPageParam: "",
    getNextPageParam: (page) => page.next ?? undefined,
    refetchInterval: ({ state }) => (state.data?.pages.some(({ items }) => items.some(isUnfinished)) ? LOOK_AGAIN : false),
  });
}

/** One backtest with its result. */
export function backtestQuery(id: string) {
  return queryOptions({
    queryKey: ["backtests", id],
    queryFn: ({ signal }) => contentOf(api.GET("/v1/backtests/{backtest}", { params: { path: { backtest: id } }, signal })),
    refetchInterval: ({ state }) => (state.data === undefined || isUnfinished(state.data) ? LOOK_AGAIN : false),
  });
}

/** Starts a backtest of a time range with these manifests. */
export function askForBacktest({ from, to, documents, title = "" }: { from: string; to: string; documents: string; title?: string }): Promise<Backtest> {
  const query = { from, to: to || undefined, title: title || undefined };
  return contentOf(api.POST("/v1/backtests", { params: { query }, headers: YAML, body: documents as never, bodySerializer: (body) => body as never }));
}

/** Does not go on with it. */
export function cancelBacktest(id: string): Promise<Backtest> {
  return contentOf(api.POST("/v1/backtests/{backtest}/cancel", { params: { path: { backtest: id } } }));
}
