// One clock for all relative times on screen.
import { useSyncExternalStore } from "react";

const listeners = new Set<() => void>();
let now = Date.now();
let ticking: ReturnType<typeof setInterval> | null = null;

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  ticking ??= setInterval(tick, 1000);
  return () => {
    listeners.delete(listener);
    if (listeners.size > 0 || ticking === null) return;
    clearInterval(ticking);
    ticking = null;
  };
}

function tick(): void {
  now = Date.now();
  for (const listener of listeners) listener();
}

/** The present in milliseconds, moving once a second. */
export function useNow(): number {
  return useSyncExternalStore(subscribe, () => now);
}
