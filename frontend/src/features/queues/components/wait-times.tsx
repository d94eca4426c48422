// How long workloads of a queue were pending until they got quota: a histogram with p50 and p95, and a table instead.
import { useQuery } from "@tanstack/react-query";
import { ChartColumn, Table } from "lucide-react";
import { type CSSProperties, useState } from "react";

import { Button } from "@/components/ui/button";
import { Card } from "@/components/ui/layout";
import { PlainTable } from "@/components/ui/plain-table";
import { Empty } from "@/components/ui/states";
import { View } from "@/components/ui/view";
import type { WaitTimes as Waits } from "@/lib/api/types";
import { formatShare } from "@/lib/format/amounts";
import { formatDuration, formatShortTime } from "@/lib/format/times";
import { useTimeRange } from "@/lib/hooks/use-time-range";
import { rangeWords, type TimeRange } from "@/lib/time-range";

import { waitTimesQuery } from "../api/queues";
import { estimateWords, placeOf, waitBars } from "../model/waits";
import styles from "./wait-times.module.css";

export function WaitTimes({ name }: { name: string }) {
  const [range] = useTimeRange();
  const waits = useQuery(waitTimesQuery(name, range));
  const [asTable, setAsTable] = useState(false);
  const toggle = (
    <Button look="quiet" aria-pressed={asTable} onClick={() => setAsTable(!asTable)}>
      {asTable ? <ChartColumn aria-hidden="true" /> : <Table aria-hidden="true" />}
      {asTable ? "Chart" : "Table"}
    </Button>
  );
  return (
    <Card title="Wait times" aside={toggle} padded>
      <View query={waits} rows={6} empty={(found) => (found.waits === 0 ? <Empty title={`No workload got quota: ${sinceWords(found, range)}`} /> : undefined)}>
        {(found) => (
          <>
            <p className={styles.told}>
              Time from submission to quota reservation of {found.waits.toLocaleString("en")} {found.waits === 1 ? "start" : "starts"}. {sinceWords(found, range)}.
            </p>
            {estimateWords(found) !== "" && <p className={styles.told}>{estimateWords(found)}</p>}
            {asTable ? <Rows waits={found} /> : <Histogram waits={found} />}
          </>
        )}
      </View>
    </Card>
  );
}

/** The range, or where the log begins within it. */
function sinceWords({ since, dataSince }: Waits, range: TimeRange): string {
  return dataSince && dataSince > since ? `Log since ${formatShortTime(dataSince)}` : rangeWords(range);
}

function Histogram({ waits }: { waits: Waits }) {
  const bars = waitBars(waits.buckets);
  const most = Math.max(1, ...bars.map(({ count }) => count));
  const [p50, p95] = [waits.waitP50Seconds ?? 0, waits.waitP95Seconds ?? 0];
  return (
    <figure className={styles.chart} role="img" aria-label={`Wait p50 ${formatDuration(p50)}, p95 ${formatDuration(p95)}; ${bars.map(({ words, count }) => `${words}: ${count}`).join(", ")}`}>
      <div className={styles.plot}>
        {bars.map(({ fromSeconds, words, count }) => (
          <div key={fromSeconds} className={styles.slot} title={`${words}: ${count}`}>
            {count > 0 && <span className="number">{count.toLocaleString("en")}</span>}
            <div className={styles.bar} data-some={count > 0 || undefined} style={{ height: `${(80 * count) / most}%` }} />
          </div>
        ))}
        <Line words="p50" seconds={p50} place={placeOf(p50, bars)} />
        <Line words="p95" seconds={p95} place={placeOf(p95, bars)} />
      </div>
      <div className={styles.axis} aria-hidden="true">
        {bars.map(({ fromSeconds }) => (
          <span key={fromSeconds} className="number">
            {fromSeconds === 0 ? "0" : formatDuration(fromSeconds)}
          </span>
        ))}
      </div>
    </figure>
  );
}

function Line({ words, seconds, place }: { words: "p50" | "p95"; seconds: number; place: number }) {
  return (
    <span className={styles.line} data-line={words} data-left={place > 75 || undefined} style={{ "--place": `${place}%` } as CSSProperties}>
      <span className={`number ${styles.label ?? ""}`}>
        {words} {formatDuration(seconds)}
      </span>
    </span>
  );
}

function Rows({ waits }: { waits: Waits }) {
  return (
    <PlainTable label="Wait times" heads={["Wait", { words: "Starts", figure: true }, { words: "Share", figure: true }]}>
      {waitBars(waits.buckets).map(({ fromSeconds, words, count }) => (
        <tr key={fromSeconds}>
          <th scope="row" className="number">
            {words}
          </th>
          <td data-figure>{count.toLocaleString("en")}</td>
          <td data-figure>{formatShare(count / waits.waits)}</td>
        </tr>
      ))}
    </PlainTable>
  );
}
