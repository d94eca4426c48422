// Reading the stream's freshness and facts from components.
import { useEffect, useEffectEvent, useSyncExternalStore } from "react";

import type { Fact } from "@/lib/api/types";
import type { Freshness } from "@/lib/live/connection";
import { currentFreshness, onFacts, onFreshness } from "@/lib/live/live-store";

/** How fresh the interface is, re-rendering when it changes. */
export function useFreshness(): Freshness {
  return useSyncExternalStore(onFreshness, currentFreshness);
}

/** Runs `handler` for every batch of new facts while the component is on screen. */
export function useFacts(handler: (facts: Fact[]) => void): void {
  const handle = useEffectEvent(handler);
  useEffect(() => onFacts((facts) => handle(facts)), []);
}
