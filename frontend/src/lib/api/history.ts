// Reading the history of the configuration, trying out what taking a change back would do, and doing it.
import { infiniteQueryOptions } from "@tanstack/react-query";

import { api, contentOf } from "./request";
import type { Simulation } from "./types";

const PAGE_SIZE = 50;

/** Pages of changes, newest first, of one object or kind where given. */
export function revisionsQuery(kind: string, stream: string) {
  return infiniteQueryOptions({
    queryKey: ["history", { kind, stream }],
    queryFn: ({ pageParam, signal }) => {
      const query = { kind: kind || undefined, stream: stream || undefined, limit: PAGE_SIZE, before: pageParam || undefined };
      return contentOf(api.GET("/v1/history", { params: { query }, signal }));
    },
    initialPageParam: 0,
    getNextPageParam: (page) => page.next ?? undefined,
  });
}

/** Simulates the rollback of an object to its revision of a position. */
export async function previewRevert(stream: string, position: number): Promise<Simulation> {
  const call = api.POST("/v1/history/revert", { params: { query: { dryRun: "Admission" } }, body: { stream, position } });
  return (await contentOf(call)) as unknown as Simulation;
}

/** Rolls an object back to its revision of a position. */
export function revert(stream: string, position: number, reason: string) {
  return contentOf(api.POST("/v1/history/revert", { body: { stream, position, reason } }));
}
