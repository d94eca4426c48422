// The resource that charts and tables show; the choice is kept for all pages.
import { useSyncExternalStore } from "react";

const CHOSEN = "headgate.resource";
const listeners = new Set<() => void>();

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

function choose(name: string): void {
  localStorage.setItem(CHOSEN, name);
  for (const listener of listeners) listener();
}

/** The chosen resource, empty for the most important one, and how to choose another one. */
export function useResource(): [string, (name: string) => void] {
  return [useSyncExternalStore(subscribe, () => localStorage.getItem(CHOSEN) ?? ""), choose];
}
