// Stopping, draining and resuming a ClusterQueue, with a reason.
import { CirclePause, CirclePlay, LogOut } from "lucide-react";
import { useState } from "react";

import { ActionDialog } from "@/components/ui/action-dialog";
import { Button } from "@/components/ui/button";
import { type ActionInput, quoted } from "@/lib/actions";
import type { QueueNode } from "@/lib/api/types";
import { useIdentity } from "@/lib/hooks/use-session";
import { refusalFor } from "@/lib/permissions";

import { type QueueAction, actOnQueue } from "../api/queues";
import { isStopped } from "./stop-badge";

const WORDS: Record<QueueAction, { verb: string; words: string; danger: boolean }> = {
  stop: { verb: "Stop", words: "It admits nothing from now on. What runs, runs on.", danger: false },
  drain: { verb: "Drain", words: "It admits nothing from now on, and what has a place here is evicted.", danger: true },
  resume: { verb: "Resume", words: "It admits again, in the order of its line.", danger: false },
};

export function QueueActions({ node }: { node: QueueNode }) {
  const role = refusalFor(useIdentity(), { on: "queue" });
  const [action, setAction] = useState<QueueAction | null>(null);
  const stopped = isStopped(node);
  const draining = node.stopPolicy === "HoldAndDrain";
  return (
    <>
      {stopped ? (
        <Button look="primary" refusal={role} onClick={() => setAction("resume")}>
          <CirclePlay aria-hidden="true" />
          Resume
        </Button>
      ) : (
        <Button refusal={role} onClick={() => setAction("stop")}>
          <CirclePause aria-hidden="true" />
          Stop
        </Button>
      )}
      <Button refusal={role ?? (draining ? "It is draining already." : undefined)} onClick={() => setAction("drain")}>
        <LogOut aria-hidden="true" />
        Drain
      </Button>
      {action !== null && (
        <ActionDialog
          verb={WORDS[action].verb}
          subject={node.name}
          words={WORDS[action].words}
          danger={WORDS[action].danger}
          expires={action !== "resume"}
          targets={[{ key: node.name }]}
          command={(input) => commandFor(action, node.name, input)}
          run={(name, input) => actOnQueue(action, name, input)}
          onClose={() => setAction(null)}
        />
      )}
    </>
  );
}

function commandFor(action: QueueAction, name: string, { reason, expirySeconds }: ActionInput): string {
  const expiry = expirySeconds > 0 ? ` --for ${expirySeconds}s` : "";
  return `headgate ${action} cq/${quoted(name)} --reason ${quoted(reason || "…")}${expiry}`;
}
