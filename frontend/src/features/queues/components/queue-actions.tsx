// Stopping, draining and resuming a ClusterQueue or LocalQueue, with a reason.
import { useQuery } from "@tanstack/react-query";
import { CirclePause, CirclePlay, LogOut } from "lucide-react";
import { useState } from "react";

import { ActionDialog } from "@/components/ui/action-dialog";
import { Button } from "@/components/ui/button";
import { type ActionInput, quoted } from "@/lib/actions";
import { useIdentity } from "@/lib/hooks/use-session";
import { refusalFor } from "@/lib/permissions";

import { type QueueAction, type Stoppable, actOnQueue, leavingQuery } from "../api/queues";
import { drainPreviewOf } from "../model/drain-preview";

const WORDS: Record<QueueAction, { verb: string; words: string; danger: boolean }> = {
  stop: { verb: "Stop", words: "Stops new admissions. Running workloads continue.", danger: false },
  drain: { verb: "Drain", words: "Stops new admissions and evicts all admitted workloads.", danger: true },
  resume: { verb: "Resume", words: "Resumes admission in queue order.", danger: false },
};

export interface QueueActionsProps {
  queue: Stoppable;
  /** Draining stands in a menu beside. */
  hasMenu?: boolean;
}

export function QueueActions({ queue, hasMenu = false }: QueueActionsProps) {
  const role = refusalFor(useIdentity(), queue.namespace === undefined ? { on: "queue", clusterQueue: queue.name } : { on: "queue", namespace: queue.namespace });
  const [action, setAction] = useState<QueueAction | null>(null);
  const stopped = queue.stopPolicy !== "None";
  const draining = queue.stopPolicy === "HoldAndDrain";
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
      {!hasMenu && (
        <Button refusal={role ?? (draining ? "Already draining" : undefined)} onClick={() => setAction("drain")}>
          <LogOut aria-hidden="true" />
          Drain
        </Button>
      )}
      {action !== null && <QueueDialog queue={queue} action={action} onClose={() => setAction(null)} />}
    </>
  );
}

/** Asks for the reason of an action on a queue; draining shows what would be evicted. */
export function QueueDialog({ queue, action, onClose }: { queue: Stoppable; action: QueueAction; onClose: () => void }) {
  const leaving = useQuery(leavingQuery(queue, action === "drain"));
  return (
    <ActionDialog
      verb={WORDS[action].verb}
      subject={queue.name}
      words={WORDS[action].words}
      danger={WORDS[action].danger}
      soon={action === "drain" ? "begun" : "done"}
      expires={action !== "resume"}
      targets={[{ key: queue.name }]}
      affected={action === "drain" ? drainPreviewOf(leaving.data) : undefined}
      command={(input) => commandFor(action, queue, input)}
      run={(_, input) => actOnQueue(action, queue, input)}
      onClose={onClose}
    />
  );
}

function commandFor(action: QueueAction, { namespace, name }: Stoppable, { reason, expirySeconds }: ActionInput): string {
  const expiry = expirySeconds > 0 ? ` --for ${expirySeconds}s` : "";
  const which = namespace === undefined ? `cq/${quoted(name)}` : `lq/${quoted(name)} -n ${quoted(namespace)}`;
  return `headgate ${action} ${which} --reason ${quoted(reason || "…")}${expiry}`;
}
