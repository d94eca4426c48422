// Alerts, the most severe first, each with its cause and a link to what it is about.
import { CircleAlert, Info, OctagonAlert } from "lucide-react";

import type { Attention } from "@/lib/api/types";
import { bySeverity } from "@/lib/attention";

import styles from "./attention-list.module.css";
import { Badge, type Tone } from "./badge";
import { RouterLink } from "./router-link";
import { Empty } from "./states";

const SEVERITIES: Record<string, { tone: Tone; icon: typeof Info; words: string }> = {
  critical: { tone: "bad", icon: OctagonAlert, words: "Critical" },
  warning: { tone: "wait", icon: CircleAlert, words: "Warning" },
  info: { tone: "move", icon: Info, words: "Note" },
};
const NOTE = { tone: "move" as Tone, icon: Info, words: "Note" };

export function AttentionList({ attention }: { attention: Attention[] }) {
  if (attention.length === 0) return <Empty title="No alerts">Stopped queues, failed workloads and absent executors appear here.</Empty>;
  return (
    <ul>
      {bySeverity(attention).map((item, index) => {
        const look = SEVERITIES[item.severity] ?? NOTE;
        return (
          <li key={index} className={styles.attention}>
            <Badge tone={look.tone} icon={look.icon}>
              {look.words}
            </Badge>
            <div className={styles.what}>
              {item.link.startsWith("/") ? <RouterLink to={item.link}>{item.title}</RouterLink> : <strong>{item.title}</strong>}
              <p>{item.detail}</p>
              <Evidence item={item} />
            </div>
          </li>
        );
      })}
    </ul>
  );
}

/** The events that show it, where the user may read them. */
function Evidence({ item: { stream, position } }: { item: Attention }) {
  if (!stream || !position) return null;
  return (
    <RouterLink className={styles.evidence} to={`/events?stream=${encodeURIComponent(stream)}`}>
      Event #{position.toLocaleString("en")}
    </RouterLink>
  );
}
