// Which causes are shown, and the words for their states.
import { quoted } from "@/lib/actions";
import type { Cause } from "@/lib/api/types";

export type CauseState = Cause["state"];

export const CAUSE_STATES: CauseState[] = ["Open", "Acknowledged", "Snoozed"];

/** Ends of a snooze, from an hour to a week. */
export const SNOOZES = [
  { value: "3600", words: "1 hour" },
  { value: "14400", words: "4 hours" },
  { value: "86400", words: "1 day" },
  { value: "604800", words: "1 week" },
] as const;

/** The state of the causes to show: as asked, or that of the cause the address opens. */
export function shownState(asked: string, opened: string, causes: readonly Cause[]): CauseState {
  const named = CAUSE_STATES.find((state) => state === asked);
  return named ?? causes.find(({ key }) => key === opened)?.state ?? "Open";
}

/** How many causes are in each state. */
export function countsByState(causes: readonly Cause[]): Record<CauseState, number> {
  const counts: Record<CauseState, number> = { Open: 0, Acknowledged: 0, Snoozed: 0 };
  for (const { state } of causes) counts[state] += 1;
  return counts;
}

/** The same as a command. */
export function acknowledgeCommand(key: string, reason: string, snoozeSeconds: number): string {
  const end = snoozeSeconds > 0 ? ` --for ${snoozeSeconds / 3600}h` : "";
  return `headgate acknowledge ${quoted(key)} --reason ${quoted(reason === "" ? "…" : reason)}${end}`;
}
