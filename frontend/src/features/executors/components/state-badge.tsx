// Whether something is there, as shape, word and color.
import { Ban, CircleCheck, CircleX, type LucideIcon, Power } from "lucide-react";

import { Badge, type Tone } from "@/components/ui/badge";

const ICONS: Partial<Record<Tone, LucideIcon>> = { good: CircleCheck, bad: CircleX, hold: Ban };

export function StateBadge({ words, tone }: { words: string; tone: Tone }) {
  return (
    <Badge tone={tone} icon={ICONS[tone] ?? Power}>
      {words}
    </Badge>
  );
}
