// The result of a simulation in words.
import type { Effect, Foreseen } from "@/lib/api/types";

const VERDICTS: Record<Foreseen["verdict"], string> = {
  Admitted: "Would be admitted now",
  MakesRoom: "Would preempt other workloads",
  Waits: "Would stay pending",
  Gone: "Would be removed",
};

const EFFECTS: Record<Effect["what"], string> = {
  Starts: "Would start",
  DoesNotStart: "Would not start",
  Evicted: "Would be evicted",
  EvictedAndStartsAgain: "Would be evicted and start again",
  NotEvicted: "Would not be evicted",
  Changes: "Would be placed elsewhere",
};

/** The outcome of a workload, as the end of a sentence that begins with its name. */
export function verdictWords({ verdict, inTheEnd }: Foreseen): string {
  const first = VERDICTS[verdict];
  if (inTheEnd === "Gone" && verdict === "Admitted") return "Would be removed once its pods have stopped";
  return inTheEnd === verdict ? first : `${first}; after their eviction: ${VERDICTS[inTheEnd].toLowerCase()}`;
}

/** The effect on another workload. */
export function effectWords(effect: Effect): string {
  return EFFECTS[effect.what];
}

/** Whether an effect is good or bad for the workload it is about. */
export function effectTone(effect: Effect): "good" | "bad" | "move" {
  if (effect.what === "Starts" || effect.what === "NotEvicted") return "good";
  return effect.what === "Changes" ? "move" : "bad";
}
