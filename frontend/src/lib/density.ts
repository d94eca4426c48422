// How close rows stand: kept in the browser.
import { useSyncExternalStore } from "react";

export const DENSITIES = ["comfortable", "compact"] as const;
export type Density = (typeof DENSITIES)[number];

const KEY = "headgate.density";

/** The density chosen in this browser. */
export function chosenDensity(): Density {
  return localStorage.getItem(KEY) === "compact" ? "compact" : "comfortable";
}

/** Shows rows in a density and remembers it. */
export function applyDensity(density: Density): void {
  localStorage.setItem(KEY, density);
  document.documentElement.dataset["density"] = density;
}

function subscribe(listener: () => void): () => void {
  const chosen = new MutationObserver(listener);
  chosen.observe(document.documentElement, { attributes: true, attributeFilter: ["data-density"] });
  return () => chosen.disconnect();
}

/** The density in force, for what computes heights. */
export function useDensity(): Density {
  return useSyncExternalStore(subscribe, () => (document.documentElement.dataset["density"] === "compact" ? "compact" : "comfortable"));
}
