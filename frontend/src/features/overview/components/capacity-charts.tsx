// Pending demand above, use by group below the capacity line, on one axis of time.
import { TimeChart } from "@/components/ui/time-chart";
import type { CapacityHistory, UsageGrouping } from "@/lib/api/types";
import { formatAmount, shortResource } from "@/lib/format/amounts";
import type { ChartMark } from "@/lib/marks";
import { type TimeRange, boundsOf, rangeBetween } from "@/lib/time-range";

import { OTHER, capacityAt, seriesOf } from "../model/capacity";
import styles from "./overview-page.module.css";

export interface CapacityChartsProps {
  history: CapacityHistory | undefined;
  marks: ChartMark[] | undefined;
  range: TimeRange;
  /** Where the axis begins instead of with the range. */
  since: string | undefined;
  /** The ClusterQueue that alone is shown; empty for all. */
  queue: string;
  onBrush: (range: TimeRange) => void;
  /** Filters by a ClusterQueue, or no more by it. */
  onQueue: (name: string) => void;
}

const WORDS: Record<UsageGrouping, string> = { clusterQueue: "ClusterQueue", cohort: "cohort", flavor: "flavor" };
/** The share of the axis that is left free before a young log, for the words that it begins there. */
const BEFORE_LOG = 0.17;

const NO_MARKS: ChartMark[] = [];

export function CapacityCharts({ history, marks = NO_MARKS, range, since, queue, onBrush, onQueue }: CapacityChartsProps) {
  if (history === undefined) return <div className={styles.charts} role="status" aria-label="Loading" />;
  const { points, resource, by } = history;
  const unit = shortResource(resource);
  const [whole, to] = boundsOf(range, Date.parse(history.at));
  const from = since === undefined ? whole : Math.max(whole, Date.parse(since) - BEFORE_LOG * (to - Date.parse(since)));
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
        <TimeChart {...shared} label={`Pending demand, ${unit}`} height="short" edge stacked series={[{ name: "pending", values: total, color: "--wait-solid" }]} />
      </div>
      <TimeChart
        {...shared}
        label={queue === "" ? `In use by ${WORDS[by]}, ${unit}` : `In use of ClusterQueue ${queue}, ${unit}`}
        stacked
        edge
        series={seriesOf(points, by)}
        limits={[{ name: queue === "" ? "capacity" : "nominal quota", values: points.map(capacityAt) }]}
        onArea={by === "clusterQueue" ? (name) => name !== OTHER && onQueue(name) : undefined}
        marks={marks}
      >
        {!history.complete && <span className={styles.partial}>More of the past is being read…</span>}
      </TimeChart>
    </section>
  );
}
