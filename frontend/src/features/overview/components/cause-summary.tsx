// The gravest causes of alerts, one row each: what, how many, what it costs, since when.
import type { UseQueryResult } from "@tanstack/react-query";
import { CircleAlert, OctagonAlert } from "lucide-react";

import { RouterLink } from "@/components/ui/router-link";
import { Timestamp } from "@/components/ui/timestamp";
import { Failed } from "@/components/ui/states";
import type { Causes } from "@/lib/api/types";
import { gpuHours } from "@/lib/format/amounts";

import styles from "./overview-page.module.css";

const SHOWN = 6;

export function CauseSummary({ query }: { query: UseQueryResult<Causes> }) {
  const grave = (query.data?.causes ?? []).filter(({ severity, state }) => severity !== "info" && state === "Open");
  const objects = grave.reduce((sum, { count }) => sum + count, 0);
  return (
    <section className={styles.pane} aria-label="Needs attention">
      <header className={styles.paneHead}>
        <h2>Needs attention</h2>
        <span className={styles.detail}>{query.data && `${grave.length} ${grave.length === 1 ? "cause" : "causes"}, ${objects} affected`}</span>
        <RouterLink to="/attention">All</RouterLink>
      </header>
      {query.isError && query.data === undefined && <Failed error={query.error} onRetry={() => void query.refetch()} />}
      {query.data && grave.length === 0 && <p className={styles.nothing}>Nothing needs attention</p>}
      <ul>
        {grave.slice(0, SHOWN).map((cause) => (
          <li key={cause.key} className={styles.cause} data-severity={cause.severity}>
            {cause.severity === "critical" ? <OctagonAlert aria-label="Critical" role="img" /> : <CircleAlert aria-label="Warning" role="img" />}
            <RouterLink className={styles.causeTitle} to={`/attention?alert=${encodeURIComponent(cause.key)}`} title={cause.title}>
              {cause.title}
            </RouterLink>
            <span className="number">{cause.count}</span>
            <span className="number">{cause.gpuSeconds > 0 ? gpuHours(cause.gpuSeconds) : "—"}</span>
            <Timestamp at={cause.since} />
          </li>
        ))}
      </ul>
      {grave.length > SHOWN && <RouterLink className={styles.more} to="/attention">{grave.length - SHOWN} more</RouterLink>}
    </section>
  );
}
