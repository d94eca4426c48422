// The state of the stream for the whole interface: its freshness and new events.
import type { Fact } from "@/lib/api/types";

import type { Freshness } from "./connection";

type FactListener = (facts: Fact[]) => void;

const freshnessListeners = new Set<() => void>();
const factListeners = new Set<FactListener>();
let freshness: Freshness = { link: "connecting", position: 0, heardAt: Date.now() };

/** How fresh the interface is now. */
export function currentFreshness(): Freshness {
  return freshness;
}

/** Publishes the freshness of the page. */
export function publishFreshness(next: Freshness): void {
  freshness = next;
  for (const listener of freshnessListeners) listener();
}

/** Calls back when freshness changes. */
export function onFreshness(listener: () => void): () => void {
  freshnessListeners.add(listener);
  return () => freshnessListeners.delete(listener);
}

/** Publishes events to all listeners. */
export function publishFacts(facts: Fact[]): void {
  for (const listener of factListeners) listener(facts);
}

/** Calls back with new events in order. */
export function onFacts(listener: FactListener): () => void {
  factListeners.add(listener);
  return () => factListeners.delete(listener);
}
