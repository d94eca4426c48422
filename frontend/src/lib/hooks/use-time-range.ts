// The time range that is shown, in the address; another page opened from here keeps it.
import { useRouterState } from "@tanstack/react-router";
import { useEffect, useMemo } from "react";

import { RANGE_PARAMETERS, type TimeRange, parametersOf, rangeIn } from "@/lib/time-range";

import { useUrl } from "./use-url";

/** The range that was chosen last, for addresses that name none. */
let kept = parametersOf(rangeIn(typeof window === "undefined" ? "" : window.location.search));

/** The range of the page, and how to choose another one. */
export function useTimeRange(): [TimeRange, (range: TimeRange) => void] {
  const url = useUrl();
  return useMemo(() => {
    const search = new URLSearchParams(RANGE_PARAMETERS.map((name) => [name, url.get(name)])).toString();
    const choose = (range: TimeRange) => {
      kept = parametersOf(range);
      url.change(kept);
    };
    return [rangeIn(search), choose];
  }, [url]);
}

/** Gives an address without a range the one that was chosen last; an address with one makes it the last. */
export function useKeptRange(): void {
  const url = useUrl();
  const search = useRouterState({ select: (state) => state.location.searchStr });
  useEffect(() => {
    const named = parametersOf(rangeIn(search));
    const names = Object.values(named).some((value) => value !== "");
    if (names) kept = named;
    else if (Object.values(kept).some((value) => value !== "")) url.change(kept, "replace");
  }, [search, url]);
}
