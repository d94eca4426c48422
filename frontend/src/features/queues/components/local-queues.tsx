// The LocalQueues that lead to a ClusterQueue: what waits and runs by them, and stopping each.
import { CirclePause } from "lucide-react";

import { Badge } from "@/components/ui/badge";
import { Go } from "@/components/ui/go";
import { Card } from "@/components/ui/layout";
import { PartialNote } from "@/components/ui/states";
import type { QueueNode } from "@/lib/api/types";

import { QueueActions } from "./queue-actions";
import styles from "./queue-page.module.css";

export function LocalQueues({ node }: { node: QueueNode }) {
  const queues = node.localQueues ?? [];
  if (queues.length === 0) {
    return <PartialNote>No LocalQueue leads here yet, so nothing can be submitted to this ClusterQueue.</PartialNote>;
  }
  return (
    <Card>
      <ul className={styles.doors}>
        {queues.map(({ namespace, name, pending, running, stopPolicy }) => (
          <li key={`${namespace}/${name}`}>
            <Go to={`/workloads?namespace=${encodeURIComponent(namespace)}&queue=${encodeURIComponent(name)}`}>
              {namespace}/{name}
            </Go>
            {stopPolicy !== "None" && (
              <Badge tone="hold" icon={CirclePause}>
                {stopPolicy === "HoldAndDrain" ? "Stopped and draining" : "Stopped"}
              </Badge>
            )}
            <span className={`number ${styles.figures ?? ""}`}>
              {pending} pending, {running} running
            </span>
            <QueueActions queue={{ namespace, name, stopPolicy }} />
          </li>
        ))}
      </ul>
    </Card>
  );
}
