// The query cache: answers are shown until newer ones arrive and refetched only after events of the stream.
import { QueryClient } from "@tanstack/react-query";

import { problemOf } from "@/lib/api/problem";

const MINUTE = 60_000;
const MAX_RETRIES = 2;

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 5 * MINUTE,
      gcTime: 10 * MINUTE,
      refetchOnWindowFocus: false,
      refetchOnReconnect: false,
      networkMode: "always",
      retry: (failures, error) => failures < MAX_RETRIES && isPassing(problemOf(error).status),
    },
  },
});

// 0 is a request that did not get through.
function isPassing(status: number): boolean {
  return status === 0 || status === 429 || status >= 500;
}
