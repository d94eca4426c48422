// The shown topology: the requested one, else the one of a link's target.
import { useQueries } from "@tanstack/react-query";

import { useUrl } from "@/lib/hooks/use-url";

import { nameOf } from "../model/columns";
import { hostsOf } from "../model/map";
import { mapQuery, nearFitsQuery } from "./topology";

/** The topology of the address; without one, that of its host or of its waiting workload, or the first. */
export function useShownTopology(names: string[]): string {
  const url = useUrl();
  const host = url.get("host");
  const near = url.get("near");
  const seeks = url.get("topology") === "" && names.length > 1;
  const maps = useQueries({ queries: names.map((name) => ({ ...mapQuery(name), enabled: seeks && host !== "" })) });
  const fits = useQueries({ queries: names.map((name) => ({ ...nearFitsQuery(name, near), enabled: seeks && near !== "" })) });
  if (!seeks) return url.get("topology") || (names[0] ?? "");
  const holding = maps.findIndex(({ data }) => data && hostsOf(data.domains).some((domain) => nameOf(domain) === host));
  const fitting = fits.findIndex(({ data }) => data && data.near.length > 0);
  return names[holding >= 0 ? holding : Math.max(fitting, 0)] ?? "";
}
