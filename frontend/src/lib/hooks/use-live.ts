// Hooks that read the freshness and the events of the stream.
import { useEffect, useEffectEvent, useSyncExternalStore } from "react";

import type { Fact } from "@/lib/api/types";
import type { Freshness } from "@/lib/live/connection";
import { currentFreshness, onFacts, onFreshness } from "@/lib/live/live-store";

/** How fresh the interface is, re-rendering when it changes. */
export function useFreshness(): Freshness {
  return useSyncExternalStore(onFreshness, currentFreshness);
}

/** Runs `handler` for every batch of new events while the component is mounted. */
export function useFacts(handler: (facts: Fact[]) => void): void {
  const handle = useEffectEvent(handler);
  useEffect(() => onFacts((facts) => handle(facts)), []);
}
