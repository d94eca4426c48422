// One row for each ClusterQueue: use of the chosen resource, what is borrowed, waits, the oldest pending workload.
import type { UseQueryResult } from "@tanstack/react-query";
import type { CSSProperties } from "react";

import { PlainTable } from "@/components/ui/plain-table";
import { RouterLink } from "@/components/ui/router-link";
import { Failed } from "@/components/ui/states";
import type { QueueRow, QueueSummary } from "@/lib/api/types";
import { formatAmount, shortResource } from "@/lib/format/amounts";
import { formatDuration, secondsBetween } from "@/lib/format/times";
import { PHONE, useMedia } from "@/lib/hooks/use-media";

import { largestQueues } from "../model/figures";
import styles from "./overview-page.module.css";

/** Left out on a narrow screen; the page of a queue has them. */
const SPARE = ["Borrowed", "Pending"];

export function QueueRows({ query, resource, queue }: { query: UseQueryResult<QueueSummary>; resource: string; queue: string }) {
  const { data } = query;
  const isPhone = useMedia(PHONE);
  const { shown, more } = largestQueues(data?.queues ?? [], queue);
  const heads = ["Queue", resource === "" ? "Use" : `Use, ${shortResource(resource)}`, ...["Borrowed", "Pending", "Wait p95", "Oldest"].map((words) => ({ words, figure: true as const, ...(SPARE.includes(words) && { spare: true as const }) }))];
  return (
    <section className={styles.pane} aria-label="Queues">
      <header className={styles.paneHead}>
        <h2>Queues</h2>
        <RouterLink to="/queues">All</RouterLink>
      </header>
      {query.isError && data === undefined && <Failed error={query.error} onRetry={() => void query.refetch()} />}
      {data && isPhone && <PhoneRows rows={shown} resource={resource} at={data.at} />}
      {data && !isPhone && (
        <PlainTable label="Queues" heads={heads}>
          {shown.map((row) => (
            <tr key={row.clusterQueue}>
              <th scope="row" className={styles.queue}>
                <RouterLink to={`/queues/${encodeURIComponent(row.clusterQueue)}`}>{row.clusterQueue}</RouterLink>
              </th>
              <td>
                <Use row={row} resource={resource} />
              </td>
              <td data-figure data-spare>
                {formatAmount(resource, row.borrowed, row.nominal)}
              </td>
              <td data-figure data-spare>
                {row.pendingWorkloads.toLocaleString("en")}
              </td>
              <td data-figure>{waitWords(row)}</td>
              <td data-figure>{oldestWords(row, data.at)}</td>
            </tr>
          ))}
        </PlainTable>
      )}
      {more > 0 && <RouterLink className={styles.more} to="/queues">{more.toLocaleString("en")} more</RouterLink>}
    </section>
  );
}

/** Two lines each: name and use, then what is pending and how long it waits. */
function PhoneRows({ rows, resource, at }: { rows: QueueRow[]; resource: string; at: string }) {
  return (
    <ul aria-label="Queues">
      {rows.map((row) => (
        <li key={row.clusterQueue} className={styles.phoneRow}>
          <RouterLink to={`/queues/${encodeURIComponent(row.clusterQueue)}`}>{row.clusterQueue}</RouterLink>
          <Use row={row} resource={resource} />
          <span className={styles.detail}>{row.pendingWorkloads.toLocaleString("en")} pending</span>
          <span className={styles.detail}>
            p95 {waitWords(row)}, oldest {oldestWords(row, at)}
          </span>
        </li>
      ))}
    </ul>
  );
}

function Use({ row, resource }: { row: QueueRow; resource: string }) {
  return (
    <span className={styles.use}>
      <span className="number">
        {formatAmount(resource, row.used, row.nominal)}/{formatAmount(resource, row.nominal)}
      </span>
      <span className={styles.bar} style={barOf(row)} aria-hidden="true" />
    </span>
  );
}

function waitWords({ waitP95Seconds }: QueueRow): string {
  return waitP95Seconds === null ? "—" : formatDuration(waitP95Seconds);
}

function oldestWords({ oldestPendingAt }: QueueRow, at: string): string {
  return oldestPendingAt ? formatDuration(secondsBetween(oldestPendingAt, at)) : "—";
}

function barOf({ used, nominal, borrowed }: QueueRow): CSSProperties {
  const whole = Math.max(used, nominal, 1);
  return { "--own": (used - borrowed) / whole, "--all": used / whole, "--nominal": nominal / whole } as CSSProperties;
}
