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
const POINTER_PIXELS = 28;
const TWO_LINES_PIXELS = 58;
const SECOND_LINE_PIXELS = 18;
const TOUCH = "(pointer: coarse), (max-width: 48rem)";

function subscribeToPointer(listener: () => void): () => void {
  const pointer = window.matchMedia(TOUCH);
  pointer.addEventListener("change", listener);
  return () => pointer.removeEventListener("change", listener);
}

/** The height of what is pressed in a drawing, as `--touch` is in style sheets. */
export function useTargetPixels(): number {
  return useSyncExternalStore(subscribeToPointer, () => window.matchMedia(TOUCH).matches) ? TOUCH_PIXELS : POINTER_PIXELS;
}

/** The height of a row of one or of two lines: that of the density, or what fingers need. */
export function useRowPixels(lines: 1 | 2 = 1): number {
  const density = useDensity();
  const isTouch = useSyncExternalStore(subscribeToPointer, () => window.matchMedia(TOUCH).matches);
  const first = isTouch ? TOUCH_PIXELS : ROW_PIXELS[density];
  return lines === 1 ? first : Math.max(TWO_LINES_PIXELS, first + SECOND_LINE_PIXELS);
}
