// The stage of a round.
import { CircleCheck, CircleX, Hourglass, type LucideIcon, Shuffle, Target, Unplug } from "lucide-react";

import { Badge, type Tone } from "@/components/ui/badge";

const LOOKS: Record<string, { tone: Tone; icon: LucideIcon }> = {
  Committed: { tone: "wait", icon: Hourglass },
  Invalidated: { tone: "hold", icon: Unplug },
  Draining: { tone: "wait", icon: Hourglass },
  Satisfied: { tone: "move", icon: Target },
  Completed: { tone: "good", icon: CircleCheck },
  Superseded: { tone: "idle", icon: Shuffle },
};

export function StageBadge({ stage }: { stage: string }) {
  const look = LOOKS[stage] ?? { tone: "bad" as const, icon: CircleX };
  return (
    <Badge tone={look.tone} icon={look.icon}>
      {stage}
    </Badge>
  );
}
