// What the list of workloads is narrowed to; it lives in the address.
import type { UrlState } from "@/lib/hooks/use-url";

export interface WorkloadFilters {
  phase: string;
  namespace: string;
  queue: string;
  clusterQueue: string;
  name: string;
  /** `@me`: only what the user of this tab submitted. */
  owner: string;
}

export const FILTER_NAMES = ["phase", "namespace", "queue", "clusterQueue", "name", "owner"] as const;

/** The filters in the address. */
export function filtersIn(url: UrlState): WorkloadFilters {
  return {
    phase: url.get("phase"),
    namespace: url.get("namespace"),
    queue: url.get("queue"),
    clusterQueue: url.get("clusterQueue"),
    name: url.get("name"),
    owner: url.get("owner"),
  };
}

/** The owner in a request that stands for the user of its token. */
export const MINE = "@me";

/** Whether anything is left out. */
export function isNarrowed(filters: WorkloadFilters): boolean {
  return FILTER_NAMES.some((name) => filters[name] !== "");
}

/** A comma-separated list with one entry switched on or off. */
export function toggled(list: string, entry: string): string {
  const entries = list === "" ? [] : list.split(",");
  const next = entries.includes(entry) ? entries.filter((other) => other !== entry) : [...entries, entry];
  return next.join(",");
}
