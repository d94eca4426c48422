// The status of a workload: the phase, or Unschedulable by its reason, as word, glyph and color.
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
  OctagonAlert,
  Play,
  PowerOff,
  Target,
  X,
} from "lucide-react";

import type { Phase, Status } from "@/lib/api/types";

import { Badge, type Tone } from "./badge";

const LOOKS: Record<Status, { tone: Tone; icon: LucideIcon; words: string }> = {
  Pending: { tone: "wait", icon: Clock, words: "Pending" },
  Unschedulable: { tone: "bad", icon: OctagonAlert, words: "Unschedulable" },
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

/** Every status in the order of a workload's life. */
export const STATUSES = Object.keys(LOOKS) as Status[];

/** Every phase in the order of a workload's life. */
export const PHASES = STATUSES.filter((status): status is Phase => status !== "Unschedulable");

/** What is shown of a workload: its phase, or Unschedulable of a pending one where that is its reason. */
export function statusOf(phase: Phase, dominant: string | undefined): Status {
  return phase === "Pending" && dominant === "Unschedulable" ? dominant : phase;
}

/** The status in words. */
export function phaseWords(status: Status): string {
  return lookOf(status).words;
}

/** The tone the status is shown in. */
export function phaseTone(status: Status): Tone {
  return lookOf(status).tone;
}

export function PhaseBadge({ phase }: { phase: Status }) {
  const look = lookOf(phase);
  return (
    <Badge tone={look.tone} icon={look.icon}>
      {look.words}
    </Badge>
  );
}

function lookOf(status: Status) {
  // A newer server may know a phase this page does not: it is shown as it is called.
  return (LOOKS as Partial<typeof LOOKS>)[status] ?? { tone: "idle" as const, icon: CircleDashed, words: status };
}
