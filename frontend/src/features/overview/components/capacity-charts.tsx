// Pending demand above, use by ClusterQueue below the capacity line, on one axis of time.
import { TimeChart } from "@/components/ui/time-chart";
import type { CapacityHistory } from "@/lib/api/types";
import { formatAmount, shortResource } from "@/lib/format/amounts";
import { type TimeRange, boundsOf, rangeBetween } from "@/lib/time-range";

import { capacityAt, seriesOf } from "../model/capacity";
import type { Mark } from "../model/marks";
import styles from "./overview-page.module.css";

export interface CapacityChartsProps {
  history: CapacityHistory | undefined;
  marks: Mark[] | undefined;
  range: TimeRange;
  /** Where the axis begins instead of with the range. */
  since: string | undefined;
  onBrush: (range: TimeRange) => void;
}

const NO_MARKS: Mark[] = [];

export function CapacityCharts({ history, marks = NO_MARKS, range, since, onBrush }: CapacityChartsProps) {
  if (history === undefined) return <div className={styles.charts} role="status" aria-label="Loading" />;
  const { points, resource } = history;
  const unit = shortResource(resource);
  const [whole, to] = boundsOf(range, Date.parse(history.at));
  const from = since === undefined ? whole : Date.parse(since);
  const dataSince = history.dataSince ? Date.parse(history.dataSince) / 1000 : undefined;
  const shared = {
    times: points.map(({ at }) => Date.parse(at) / 1000),
    range: [from / 1000, to / 1000] as [number, number],
    dataSince,
    format: (value: number) => formatAmount(resource, value),
    onBrush: (one: number, other: number) => onBrush(rangeBetween(one * 1000, other * 1000)),
  };
  const total = points.map(({ queues }) => queues.reduce((sum, { pending }) => sum + pending, 0));
  return (
    <section className={styles.charts} aria-label="Use and demand over time">
      <div className={styles.demand}>
        <TimeChart {...shared} label={`Pending demand, ${unit}`} height="short" stacked series={[{ name: "pending", values: total, color: "--wait-solid" }]} />
      </div>
      <TimeChart
        {...shared}
        label={`In use by ClusterQueue, ${unit}`}
        stacked
        series={seriesOf(points)}
        limits={[{ name: "capacity", values: points.map(capacityAt) }]}
        marks={marks}
      >
        {!history.complete && <span className={styles.partial}>More of the past is being read…</span>}
      </TimeChart>
    </section>
  );
}
