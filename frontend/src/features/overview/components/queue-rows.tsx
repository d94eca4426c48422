// One row for each ClusterQueue: use of the chosen resource, what is borrowed, waits, the oldest pending workload.
import type { UseQueryResult } from "@tanstack/react-query";
import type { CSSProperties } from "react";

import { PlainTable } from "@/components/ui/plain-table";
import { RouterLink } from "@/components/ui/router-link";
import { Failed } from "@/components/ui/states";
import type { QueueSummary } from "@/lib/api/types";
import { formatAmount, shortResource } from "@/lib/format/amounts";
import { formatDuration, secondsBetween } from "@/lib/format/times";

import styles from "./overview-page.module.css";

/** Left out on a narrow screen; the page of a queue has them. */
const SPARE = ["Borrowed", "Pending"];

export function QueueRows({ query, resource, queue }: { query: UseQueryResult<QueueSummary>; resource: string; queue: string }) {
  const { data } = query;
  const heads = ["Queue", `Use, ${shortResource(resource)}`, ...["Borrowed", "Pending", "Wait p95", "Oldest"].map((words) => ({ words, figure: true as const, ...(SPARE.includes(words) && { spare: true as const }) }))];
  return (
    <section className={styles.pane} aria-label="Queues">
      <header className={styles.paneHead}>
        <h2>Queues</h2>
        <RouterLink to="/queues">All</RouterLink>
      </header>
      {query.isError && data === undefined && <Failed error={query.error} onRetry={() => void query.refetch()} />}
      {data && (
        <PlainTable label="Queues" heads={heads}>
          {data.queues.filter(({ clusterQueue }) => queue === "" || clusterQueue === queue).map((row) => (
            <tr key={row.clusterQueue}>
              <th scope="row" className={styles.queue}>
                <RouterLink to={`/queues/${encodeURIComponent(row.clusterQueue)}`}>{row.clusterQueue}</RouterLink>
              </th>
              <td>
                <span className={styles.use}>
                  <span className="number">
                    {formatAmount(resource, row.used, row.nominal)}/{formatAmount(resource, row.nominal)}
                  </span>
                  <span className={styles.bar} style={barOf(row)} aria-hidden="true" />
                </span>
              </td>
              <td data-figure data-spare>
                {formatAmount(resource, row.borrowed, row.nominal)}
              </td>
              <td data-figure data-spare>
                {row.pendingWorkloads.toLocaleString("en")}
              </td>
              <td data-figure>{row.waitP95Seconds === null ? "—" : formatDuration(row.waitP95Seconds)}</td>
              <td data-figure>
                {row.oldestPendingAt ? formatDuration(secondsBetween(row.oldestPendingAt, data.at)) : "—"}
              </td>
            </tr>
          ))}
        </PlainTable>
      )}
    </section>
  );
}

function barOf({ used, nominal, borrowed }: QueueSummary["queues"][number]): CSSProperties {
  const whole = Math.max(used, nominal, 1);
  return { "--own": (used - borrowed) / whole, "--all": used / whole, "--nominal": nominal / whole } as CSSProperties;
}
