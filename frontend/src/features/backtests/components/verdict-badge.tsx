// Whether a prediction held, as a word with its glyph.
import { CircleCheck, CircleSlash, CircleX, Hourglass, type LucideIcon } from "lucide-react";

import { Badge, type Tone } from "@/components/ui/badge";
import type { Prediction } from "@/lib/api/types";

type Verdict = Prediction["waits"][number]["verdict"];

const VERDICTS: Record<NonNullable<Verdict> | "Due", { words: string; tone: Tone; icon: LucideIcon }> = {
  Due: { words: "Not due", tone: "wait", icon: Hourglass },
  Held: { words: "Held", tone: "good", icon: CircleCheck },
  Missed: { words: "Missed", tone: "bad", icon: CircleX },
  NoStarts: { words: "No starts", tone: "idle", icon: CircleSlash },
  QueueChanged: { words: "Changed since", tone: "idle", icon: CircleSlash },
};

export function VerdictBadge({ verdict }: { verdict: Verdict }) {
  const { words, tone, icon } = VERDICTS[verdict ?? "Due"];
  return (
    <Badge tone={tone} icon={icon}>
      {words}
    </Badge>
  );
}
