// The phase of a workload as the server derived it, in words, glyph and colour.
import {
  Ban,
  Bookmark,
  Check,
  CircleDashed,
  Clock,
  Hand,
  Hourglass,
  LogOut,
  type LucideIcon,
  Play,
  PowerOff,
  Target,
  X,
} from "lucide-react";

import type { Phase } from "@/lib/api/types";

import { Badge, type Tone } from "./badge";

const LOOKS: Record<Phase, { tone: Tone; icon: LucideIcon; words: string }> = {
  Pending: { tone: "wait", icon: Clock, words: "Pending" },
  Nominated: { tone: "move", icon: Target, words: "Nominated" },
  Retrying: { tone: "wait", icon: Hourglass, words: "Retrying" },
  OnHold: { tone: "hold", icon: Hand, words: "On hold" },
  Inactive: { tone: "idle", icon: PowerOff, words: "Inactive" },
  QuotaReserved: { tone: "move", icon: Bookmark, words: "Quota reserved" },
  Starting: { tone: "run", icon: CircleDashed, words: "Starting" },
  Running: { tone: "run", icon: Play, words: "Running" },
  Evicting: { tone: "bad", icon: LogOut, words: "Evicting" },
  Succeeded: { tone: "good", icon: Check, words: "Succeeded" },
  Failed: { tone: "bad", icon: X, words: "Failed" },
  Cancelled: { tone: "idle", icon: Ban, words: "Cancelled" },
};

/** Every phase in the order of a workload's life. */
export const PHASES = Object.keys(LOOKS) as Phase[];

/** The phase in words. */
export function phaseWords(phase: Phase): string {
  return lookOf(phase).words;
}

/** The tone the phase is shown in. */
export function phaseTone(phase: Phase): Tone {
  return lookOf(phase).tone;
}

export function PhaseBadge({ phase }: { phase: Phase }) {
  const look = lookOf(phase);
  return (
    <Badge tone={look.tone} icon={look.icon}>
      {look.words}
    </Badge>
  );
}

function lookOf(phase: Phase) {
  // A newer server may know a phase this page does not: it is shown as it is called.
  return (LOOKS as Partial<typeof LOOKS>)[phase] ?? { tone: "idle" as const, icon: CircleDashed, words: phase };
}
