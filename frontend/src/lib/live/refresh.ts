// Reads again what changed topics show.
import type { QueryClient } from "@tanstack/react-query";

import { isTouched } from "./topics";

/**
 * Resolves once everything on screen that shows one of the topics is read again.
 *
 * A first read that is under way is not ended by an invalidation, and its answer may be older than the change: it is read
 * once more.
 */
export async function refreshTouched(client: QueryClient, topics: ReadonlySet<string>): Promise<void> {
  const touched = { predicate: ({ queryKey }: { queryKey: readonly unknown[] }) => isTouched(queryKey, topics) };
  const first = client
    .getQueryCache()
    .findAll(touched)
    .filter(({ state }) => state.fetchStatus === "fetching" && state.data === undefined);
  await client.invalidateQueries(touched);
  await Promise.all(first.map(({ queryKey }) => client.invalidateQueries({ queryKey, exact: true })));
}
