// A preemption round in words and numbers.
import type { Round, RoundVictim } from "@/lib/api/types";
import { formatAmountOf } from "@/lib/format/amounts";
import { formatDuration, secondsBetween } from "@/lib/format/times";

const RULES: Record<string, string> = {
  InClusterQueue: "lower priority in the same queue",
  InCohortReclamation: "reclaims quota that was borrowed",
  InCohortReclaimWhileBorrowing: "lower priority, while borrowing itself",
  InCohortFairSharing: "fair share of the cohort",
};

/** The rule a victim had to go by, as a person says it. */
export function ruleWords(reason: string): string {
  return RULES[reason] ?? reason;
}

/** How many victims have gone already. */
export function releasedCount(round: Round): number {
  return round.victims.filter((victim) => victim.released).length;
}

/** Whether it still makes room. */
export function isOpen(round: Round): boolean {
  return round.stage === "Draining" || round.stage === "Satisfied";
}

/** Everything the round frees, summed over its victims, in words. */
export function freedWords(victims: RoundVictim[]): string {
  const sums = new Map<string, number>();
  for (const victim of victims) {
    for (const [key, amount] of Object.entries(victim.freed)) sums.set(key, (sums.get(key) ?? 0) + amount);
  }
  return [...sums]
    .sort(([left], [right]) => Number(isDevice(right)) - Number(isDevice(left)))
    .map(([key, amount]) => amountOfFlavor(key, amount))
    .join(", ");
}

// `flavor/vendor.example/device`: devices are what people look for first.
function isDevice(key: string): boolean {
  return key.split("/").length > 2;
}

/** `flavor/resource` with an amount: "4 GPU of a100". */
export function amountOfFlavor(key: string, amount: number): string {
  const slash = key.indexOf("/");
  if (slash < 0) return formatAmountOf(key, amount);
  return `${formatAmountOf(key.slice(slash + 1), amount)} of ${key.slice(0, slash)}`;
}

/** Lost work: what each victim used times how long it had run, in resource-hours. */
export function lostHours(victims: RoundVictim[], resource: string): number {
  return victims.reduce((sum, victim) => {
    const amount = Object.entries(victim.freed)
      .filter(([key]) => key.endsWith(resource))
      .reduce((total, [, value]) => total + value, 0);
    return sum + (amount * victim.runningSeconds) / 3600;
  }, 0);
}

/** How the round ended or where it stands, in one sentence. */
export function outcomeWords(round: Round): string {
  const took = round.endedAt ? formatDuration(secondsBetween(round.committedAt, round.endedAt)) : "";
  switch (round.stage) {
    case "Draining":
      return `${releasedCount(round)} of ${round.victims.length} victims have gone.`;
    case "Satisfied":
      return "Every victim has gone; the preemptor is about to start.";
    case "Completed":
      return `The preemptor was admitted after ${took}.`;
    case "Superseded":
      return `The preemptor found another place after ${took}.`;
    case "Expired":
      return `Victims did not stop in time: given up after ${took}.`;
    default:
      return round.outcome ? `${round.stage}: ${round.outcome}` : `${round.stage} after ${took}.`;
  }
}
