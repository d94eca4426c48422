// The workloads that a configuration change affects, in words.
import type { Effect } from "@/lib/api/types";

const EFFECTS: Record<Effect["what"], string> = {
  Starts: "would start",
  DoesNotStart: "would not start",
  Evicted: "would be evicted",
  EvictedAndStartsAgain: "would be evicted and start again",
  NotEvicted: "would not be evicted",
  Changes: "would be placed elsewhere",
};

/** The effect on one workload, as the end of a sentence that begins with its name. */
export function effectWords({ what }: Pick<Effect, "what">): string {
  return EFFECTS[what];
}

/** How many workloads are affected, and how. */
export function impactWords(effects: readonly Pick<Effect, "what">[]): string {
  if (effects.length === 0) return "No workload would be affected.";
  const counts = new Map<string, number>();
  for (const effect of effects) counts.set(effectWords(effect), (counts.get(effectWords(effect)) ?? 0) + 1);
  const all = effects.length === 1 ? "1 workload would be affected" : `${effects.length} workloads would be affected`;
  return `${all}: ${[...counts].map(([words, count]) => `${count} ${words}`).join(", ")}.`;
}
