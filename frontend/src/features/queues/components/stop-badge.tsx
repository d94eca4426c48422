// Whether a queue admits, and if not, which user stopped it and why.
import { CircleAlert, CirclePause } from "lucide-react";

import { Badge } from "@/components/ui/badge";
import { Hint } from "@/components/ui/hint";
import type { QueueNode } from "@/lib/api/types";
import { formatAbsolute } from "@/lib/format/times";

export function isStopped(node: QueueNode): boolean {
  return node.stopPolicy === "Hold" || node.stopPolicy === "HoldAndDrain";
}

export function StopBadge({ node }: { node: QueueNode }) {
  if (isStopped(node)) {
    return (
      <Hint text={stopWords(node)}>
        <span tabIndex={0}>
          <Badge tone="hold" icon={CirclePause}>
            {node.stopPolicy === "HoldAndDrain" ? "Stopped and draining" : "Stopped"}
          </Badge>
        </span>
      </Hint>
    );
  }
  if (node.active === false) {
    return (
      <Badge tone="bad" icon={CircleAlert}>
        {node.inactiveReason || "Inactive"}
      </Badge>
    );
  }
  return null;
}

/** The user who stopped the queue, the reason, and until when. */
export function stopWords(node: QueueNode): string {
  const { stop } = node;
  if (!stop) return "Admission is paused until resumed.";
  const until = stop.expiresAt ? `until ${formatAbsolute(stop.expiresAt)}` : "until resumed";
  return `Stopped by ${stop.owner}: ${stop.reason || "no reason given"}, ${until}.`;
}
