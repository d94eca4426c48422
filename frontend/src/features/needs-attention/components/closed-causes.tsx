// Causes that have closed: what, how many at most, what it cost, and from when to when.
import { useQuery } from "@tanstack/react-query";

import { RouterLink } from "@/components/ui/router-link";
import { Empty } from "@/components/ui/states";
import { Timestamp } from "@/components/ui/timestamp";
import { View } from "@/components/ui/view";
import type { ClosedCause } from "@/lib/api/types";
import { gpuHours } from "@/lib/format/amounts";
import { formatDuration, secondsBetween } from "@/lib/format/times";

import { closedCausesQuery } from "../api/alerts";
import { countWords } from "../model/causes";
import { AlertRows } from "./alert-rows";
import styles from "./cause-list.module.css";
import { SEVERITIES } from "./cause-row";

export function ClosedCauses({ severity }: { severity: string }) {
  const closed = useQuery(closedCausesQuery);
  return (
    <View query={closed} rows={3}>
      {({ causes, keptDays, isWithheld }) => {
        if (isWithheld) return <Empty title="Closed alerts are shown to readers of all namespaces only" />;
        const shown = causes.filter((cause) => severity === "" || cause.severity === severity);
        if (shown.length === 0) return <Empty title={causes.length > 0 ? "No closed alerts of this severity" : `No alert has closed in the last ${keptDays} days`} />;
        return (
          <AlertRows
            label={`Alerts closed in the last ${keptDays} days`}
            alerts={shown}
            keyOf={keyOf}
            asked={severity}
            at={closed.dataUpdatedAt}
            row={(cause) => <Row key={keyOf(cause)} cause={cause} />}
          />
        );
      }}
    </View>
  );
}

function keyOf({ key, openedAt }: ClosedCause): string {
  return `${key} ${openedAt}`;
}

function Row({ cause }: { cause: ClosedCause }) {
  const { icon: Icon, words } = SEVERITIES[cause.severity];
  return (
    <li data-severity={cause.severity}>
      <div className={`${styles.row ?? ""} ${styles.closed ?? ""}`}>
        <Icon className={styles.severity} role="img" aria-label={words} />
        <span className={styles.title} title={cause.title}>
          {cause.link.startsWith("/") ? <RouterLink to={cause.link}>{cause.title}</RouterLink> : <span>{cause.title}</span>}
        </span>
        <span className={styles.figure}>{countWords(cause)}</span>
        <span className={styles.figure}>{cause.gpuSeconds > 0 ? gpuHours(cause.gpuSeconds) : "—"}</span>
        <span className={styles.figure}>
          <Timestamp at={cause.openedAt} />
        </span>
        <span className={styles.until}>
          closed <Timestamp at={cause.closedAt} />, open for {formatDuration(secondsBetween(cause.openedAt, cause.closedAt))}
        </span>
      </div>
    </li>
  );
}

/** The cause that closed last, in the place where nothing needs attention. */
export function LastClosed() {
  const last = useQuery(closedCausesQuery).data?.causes[0];
  if (last === undefined) return null;
  return (
    <>
      Last closed: {last.title}, <Timestamp at={last.closedAt} />.
    </>
  );
}
