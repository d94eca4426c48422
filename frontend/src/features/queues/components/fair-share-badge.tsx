// How much of what its cohort lends a node takes, while it takes any.
import { Scale } from "lucide-react";

import { Badge } from "@/components/ui/badge";
import { Hint } from "@/components/ui/hint";
import type { QueueNode } from "@/lib/api/types";

import { fairShareWords } from "../model/quota-bar";

const MEANING =
  "Dominant resource share: the largest fraction of the cohort's lendable capacity this queue borrows, divided by its weight. Lower shares are admitted first.";

export function FairShareBadge({ node }: { node: QueueNode }) {
  const words = fairShareWords(node);
  if (words === undefined) return null;
  return (
    <Hint text={MEANING}>
      <span tabIndex={0}>
        <Badge tone="idle" icon={Scale}>
          {words}
        </Badge>
      </span>
    </Hint>
  );
}
