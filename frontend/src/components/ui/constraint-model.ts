// Which constraint decides, and its amounts in words.
import type { Blocker } from "@/lib/api/types";
import { formatAmountOf } from "@/lib/format/amounts";

/** The constraint that decides: of those with an amount, the one that the sentence is about. */
export function bindingOf({ blockers = [], sentence }: { blockers?: Blocker[]; sentence: string }): Blocker | null {
  const measured = blockers.filter(({ need, have }) => typeof need === "number" && typeof have === "number" && need > 0);
  return measured.find(({ message }) => sentence.includes(message)) ?? measured[0] ?? null;
}

export interface BarWords {
  /** What part of what is requested there is, from 0 to 1. */
  share: number;
  have: string;
  need: string;
  short: string;
}

/** The binding constraint as a bar of what is requested. */
export function barOf(blocker: Blocker): BarWords {
  const { need, have } = { need: blocker.need ?? 0, have: Math.max(0, blocker.have ?? 0) };
  const short = Math.max(0, blocker.shortBy ?? need - have);
  const words = (amount: number) => (blocker.resource ? formatAmountOf(blocker.resource, amount, need) : `${amount} ${amount === 1 ? "pod" : "pods"}`);
  return { share: need === 0 ? 0 : Math.min(1, have / need), have: words(have), need: words(need), short: words(short) };
}
