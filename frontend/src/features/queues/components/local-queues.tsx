// The LocalQueues that lead to a ClusterQueue: what waits and runs by them, and stopping each.
import { useQuery } from "@tanstack/react-query";
import { CirclePause } from "lucide-react";

import { Badge } from "@/components/ui/badge";
import { RouterLink } from "@/components/ui/router-link";
import { Hint } from "@/components/ui/hint";
import { Card } from "@/components/ui/layout";
import { PartialNote } from "@/components/ui/states";
import type { QueueNode } from "@/lib/api/types";

import { localQueuesQuery } from "../api/queues";
import { consumedWords, localQueueOf } from "../model/consumption";
import { QueueActions } from "./queue-actions";
import styles from "./queue-page.module.css";

const MEANING = "Time-decayed average usage. With usage-based fair sharing, LocalQueues with lower usage are admitted first.";

export function LocalQueues({ node }: { node: QueueNode }) {
  const found = useQuery(localQueuesQuery);
  const queues = node.localQueues ?? [];
  if (queues.length === 0) {
    return <PartialNote>No LocalQueue points to this ClusterQueue, so nothing can be submitted to it.</PartialNote>;
  }
  return (
    <Card>
      <ul className={styles.doors}>
        {queues.map(({ namespace, name, pending, running, stopPolicy }) => (
          <li key={`${namespace}/${name}`}>
            <RouterLink to={`/workloads?namespace=${encodeURIComponent(namespace)}&queue=${encodeURIComponent(name)}`}>
              {namespace}/{name}
            </RouterLink>
            {stopPolicy !== "None" && (
              <Badge tone="hold" icon={CirclePause}>
                {stopPolicy === "HoldAndDrain" ? "Stopped and draining" : "Stopped"}
              </Badge>
            )}
            <Consumed words={consumedWords(localQueueOf(found.data?.items ?? [], namespace, name))} />
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

function Consumed({ words }: { words: string | undefined }) {
  if (words === undefined) return null;
  return (
    <Hint text={MEANING}>
      <span className={`number ${styles.local ?? ""}`} tabIndex={0}>
        average usage: {words}
      </span>
    </Hint>
  );
}
