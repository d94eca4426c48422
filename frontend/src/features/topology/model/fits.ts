// The pods that fit for a pod template, and the fragmentation.
import type { LevelFit, NearFit } from "@/lib/api/types";
import { shareOf, shortResource } from "@/lib/format/amounts";

const MAX_PODS = 1_000_000;

/** One pod of a size in a resource, as the server reads it; memory in GiB, everything else in whole units. */
export function podOf(resource: string, size: number): string {
  const unit = countsBytes(resource) ? "Gi" : "";
  return `${resource}=${size}${unit}`;
}

/** The size a person wrote, at least one; one where it is no number. */
export function sizeOf(text: string): number {
  const size = Number.parseInt(text, 10);
  return Number.isFinite(size) ? Math.min(Math.max(size, 1), MAX_PODS) : 1;
}

/** The unit people count a resource in. */
export function unitOf(resource: string): string {
  if (countsBytes(resource)) return "GiB";
  return shortResource(resource);
}

/** How much of the room lies outside the largest domain, and so is of no use to a gang that stays together. */
export function scattered(fit: LevelFit): number {
  return shareOf(fit.fragmentation, 1000);
}

/** The largest gang of each level, the highest level first; of several flavors the one with the larger gang: "block 512, rack 64". */
export function gangWords(fits: readonly LevelFit[]): string {
  const largest = new Map<string, number>();
  for (const { level, largest: pods } of fits) largest.set(level, Math.max(pods, largest.get(level) ?? 0));
  return [...largest].map(([level, pods]) => `${level.split("/").at(-1) ?? level} ${pods.toLocaleString("en")}`).join(", ");
}

/** The near fits by the path of their domain; of several pod sets, the one that lacks most. */
export function nearByPath(near: NearFit[]): Map<string, NearFit> {
  const found = new Map<string, NearFit>();
  for (const fit of near) {
    const path = fit.domain.join("/");
    const known = found.get(path);
    if (known === undefined || fit.needs - fit.fits > known.needs - known.fits) found.set(path, fit);
  }
  return found;
}

/** "10 of 12 pods fit", and what is short. */
export function nearWords(fit: NearFit): string {
  const lacks = fit.needs - fit.fits;
  if (lacks <= 0) return fit.needs === 1 ? `the only ${fit.unit.replace(/s$/, "")} fits` : `all ${fit.needs} ${fit.unit} fit`;
  return `${fit.fits} of ${fit.needs} ${fit.unit} fit, ${lacks} short`;
}

/** The fits to show: where a whole pod set fits, only its best domain. */
export function worthTelling(near: NearFit[]): NearFit[] {
  const settled = new Set(near.filter(fitsWhole).map((fit) => `${fit.podSet} ${fit.flavor}`));
  const told = new Set<string>();
  return near.filter((fit) => {
    const set = `${fit.podSet} ${fit.flavor}`;
    if (!settled.has(set)) return true;
    if (!fitsWhole(fit) || told.has(set)) return false;
    told.add(set);
    return true;
  });
}

/** Whether other constraints than hosts keep it pending. */
export function fitsWhole(fit: NearFit): boolean {
  return fit.fits >= fit.needs;
}

function countsBytes(resource: string): boolean {
  return resource === "memory" || resource === "ephemeral-storage" || resource.startsWith("hugepages-");
}
