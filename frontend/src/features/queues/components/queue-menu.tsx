// The menu of a ClusterQueue: what can be done with it, and why not where it cannot.
import { useRouter } from "@tanstack/react-router";
import { MoreHorizontal } from "lucide-react";
import { useState } from "react";

import { Button } from "@/components/ui/button";
import { Menu, type MenuItem } from "@/components/ui/menu";
import { configurationAddress } from "@/lib/events";
import { useIdentity } from "@/lib/hooks/use-session";
import { isAdmin, refusalFor } from "@/lib/permissions";

import type { QueueAction, Stoppable } from "../api/queues";
import { QueueDialog } from "./queue-actions";

export interface QueueMenuProps {
  queue: Stoppable;
  /** What it uses, borrows and lends, for lists that have no room for it. */
  words?: string | undefined;
}

export function QueueMenu({ queue, words: use }: QueueMenuProps) {
  const identity = useIdentity();
  const { history } = useRouter();
  const [action, setAction] = useState<QueueAction | null>(null);
  const role = refusalFor(identity, { on: "queue", clusterQueue: queue.name });
  const lab = identity !== undefined && !isAdmin(identity) ? "Needs the role admin" : undefined;
  const item = (key: string, words: string, refusal: string | undefined, onSelect: () => void): MenuItem => ({
    key,
    words: refusal === undefined ? words : `${words}: ${refusal}`,
    disabled: refusal !== undefined,
    onSelect,
  });
  const name = encodeURIComponent(queue.name);
  const stopped = queue.stopPolicy !== "None";
  return (
    <>
      <Menu
        heading={use === undefined ? queue.name : `${queue.name}: ${use}`}
        trigger={
          <Button look="quiet" shape="icon" aria-label={`Actions on ${queue.name}`}>
            <MoreHorizontal aria-hidden="true" />
          </Button>
        }
        items={[
          stopped ? item("resume", "Resume", role, () => setAction("resume")) : item("stop", "Stop", role, () => setAction("stop")),
          item("edit", "Edit quota", undefined, () => history.push(configurationAddress("ClusterQueue", name, "form"))),
          item("lab", "Open in policy lab", lab, () => history.push(`/simulations/lab?queue=${name}`)),
          { ...item("drain", "Drain…", role ?? (queue.stopPolicy === "HoldAndDrain" ? "already draining" : undefined), () => setAction("drain")), danger: true },
        ]}
      />
      {action !== null && <QueueDialog queue={queue} action={action} onClose={() => setAction(null)} />}
    </>
  );
}
