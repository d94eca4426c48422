// Reading the pods of a workload and what they write.
import { infiniteQueryOptions } from "@tanstack/react-query";

import { api, contentOf, openLogs } from "@/lib/api/request";

import type { PodFilters } from "../model/pods";
import { partsOf } from "./workloads";

const PAGE_SIZE = 200;

/** The pages of the pods of one attempt, by pod set, index and run. */
export function podsQuery(key: string, filters: PodFilters) {
  const { attempt, state, podSet, node, runs } = filters;
  const query = {
    attempt: attempt === "" ? undefined : Number(attempt),
    state: state || undefined,
    podSet: podSet || undefined,
    node: node || undefined,
    runs: runs === "all" ? ("all" as const) : undefined,
    limit: PAGE_SIZE,
  };
  return infiniteQueryOptions({
    queryKey: ["workload", key, "pods", filters],
    queryFn: ({ pageParam, signal }) =>
      contentOf(
        api.GET("/v1/namespaces/{namespace}/workloads/{name}/pods", {
          params: { path: partsOf(key), query: { ...query, continue: pageParam || undefined } },
          signal,
        }),
      ),
    initialPageParam: "",
    getNextPageParam: (page) => page.continue,
  });
}

/** Which output is shown; empty fields take the newest attempt, all pods and both streams. */
export interface LogSelection {
  attempt: string;
  pod: string;
  run: string;
  stream: string;
}

/** Opens the output of pods as a stream that goes on until the workload has ended. */
export function followLogs(key: string, selection: LogSelection, tail: number | undefined, signal: AbortSignal): Promise<Response> {
  const query = { ...selection, follow: "true", tail: tail === undefined ? "" : String(tail) };
  return openLogs(addressOf(key), query, signal);
}

/** All output that is kept of these pods, as lines of text. */
export async function downloadLogs(key: string, selection: LogSelection): Promise<Blob> {
  const answer = await openLogs(addressOf(key), { ...selection, timestamps: "true" });
  return answer.blob();
}

function addressOf(key: string): string {
  const { namespace, name } = partsOf(key);
  return `/v1/namespaces/${encodeURIComponent(namespace)}/workloads/${encodeURIComponent(name)}/logs`;
}
