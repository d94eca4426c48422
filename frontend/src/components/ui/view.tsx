// Shows a query's answer in whichever of the five states it is.
import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";

import { Failed, Skeleton, StaleNote } from "./states";

export interface ViewProps<Answer> {
  query: UseQueryResult<Answer>;
  /** What to show when there is nothing, with the next step; undefined when the answer says enough. */
  empty?: (answer: Answer) => ReactNode;
  rows?: number;
  children: (answer: Answer) => ReactNode;
}

export function View<Answer>({ query, empty, rows, children }: ViewProps<Answer>) {
  const retry = () => void query.refetch();
  if (query.data === undefined) {
    return query.isError ? <Failed error={query.error} onRetry={retry} /> : <Skeleton rows={rows} />;
  }
  return (
    <>
      {query.isError && <StaleNote error={query.error} onRetry={retry} />}
      {empty?.(query.data) ?? children(query.data)}
    </>
  );
}
