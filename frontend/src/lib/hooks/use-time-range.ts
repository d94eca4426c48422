// The time range that is shown, in the address; another page opened from here keeps it.
import { useMemo } from "react";

import { RANGE_PARAMETERS, type TimeRange, parametersOf, rangeIn } from "@/lib/time-range";

import { useUrl } from "./use-url";

/** The range of the page, and how to choose another one. */
export function useTimeRange(): [TimeRange, (range: TimeRange) => void] {
  const url = useUrl();
  return useMemo(() => {
    const search = new URLSearchParams(RANGE_PARAMETERS.map((name) => [name, url.get(name)])).toString();
    return [rangeIn(search), (range: TimeRange) => url.change(parametersOf(range))];
  }, [url]);
}
