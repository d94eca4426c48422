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

const ROW_PIXELS: Record<Density, number> = { comfortable: 32, compact: 28 };
const TOUCH_PIXELS = 44;
const TOUCH = "(pointer: coarse)";

function subscribeToPointer(listener: () => void): () => void {
  const pointer = window.matchMedia(TOUCH);
  pointer.addEventListener("change", listener);
  return () => pointer.removeEventListener("change", listener);
}

/** The height of a row of one line: that of the density, or what fingers need. */
export function useRowPixels(): number {
  const density = useDensity();
  const isTouch = useSyncExternalStore(subscribeToPointer, () => window.matchMedia(TOUCH).matches);
  return isTouch ? TOUCH_PIXELS : ROW_PIXELS[density];
}
