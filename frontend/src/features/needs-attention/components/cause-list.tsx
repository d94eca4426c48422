// Alerts by cause: what, how many, what it costs, since when; each opens to its objects.
import { ChevronDown, ChevronRight, CircleAlert, Info, OctagonAlert } from "lucide-react";

import { Button } from "@/components/ui/button";
import { RouterLink } from "@/components/ui/router-link";
import { Empty } from "@/components/ui/states";
import { Timestamp } from "@/components/ui/timestamp";
import type { Cause } from "@/lib/api/types";
import { gpuHours } from "@/lib/format/amounts";
import { useUrl } from "@/lib/hooks/use-url";

import styles from "./cause-list.module.css";

const SEVERITIES = {
  critical: { icon: OctagonAlert, words: "Critical" },
  warning: { icon: CircleAlert, words: "Warning" },
  info: { icon: Info, words: "Note" },
};

export function CauseList({ causes }: { causes: Cause[] }) {
  const url = useUrl();
  const opened = url.get("alert");
  if (causes.length === 0) return <Empty title="Nothing needs attention">Stopped queues, failed workloads and absent executors appear here.</Empty>;
  return (
    <ul className={styles.causes} aria-label="Alerts by cause">
      {causes.map((cause) => (
        <CauseRow key={cause.key} cause={cause} open={cause.key === opened} onToggle={() => url.change({ alert: cause.key === opened ? "" : cause.key }, "replace")} />
      ))}
    </ul>
  );
}

function CauseRow({ cause, open, onToggle }: { cause: Cause; open: boolean; onToggle: () => void }) {
  const { icon: Icon, words } = SEVERITIES[cause.severity];
  const Arrow = open ? ChevronDown : ChevronRight;
  return (
    <li data-severity={cause.severity}>
      <div className={styles.row}>
        <Icon className={styles.severity} role="img" aria-label={words} />
        <Button look="quiet" className={styles.title} aria-expanded={open} onClick={onToggle}>
          <Arrow aria-hidden="true" />
          <span>{cause.title}</span>
        </Button>
        <span className={styles.figure}>
          {cause.count.toLocaleString("en")} {unitWords(cause)}
        </span>
        <span className={styles.figure}>{cause.gpuSeconds > 0 ? gpuHours(cause.gpuSeconds) : "—"}</span>
        <span className={styles.figure}>{cause.since ? <Timestamp at={cause.since} /> : "—"}</span>
      </div>
      {open && (
        <ul className={styles.items}>
          {cause.items.map((item, index) => (
            <li key={index}>
              {item.link.startsWith("/") ? <RouterLink to={item.link}>{item.title}</RouterLink> : <strong>{item.title}</strong>}
              <p>{item.detail}</p>
              {item.stream && <RouterLink to={`/events?stream=${encodeURIComponent(item.stream)}`}>Events</RouterLink>}
            </li>
          ))}
        </ul>
      )}
    </li>
  );
}

function unitWords({ unit, count }: Cause): string {
  const noun = unit.toLowerCase();
  return count === 1 ? noun : `${noun}s`;
}
