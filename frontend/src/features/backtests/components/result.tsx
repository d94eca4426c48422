// What differs: in all, by queue with its use over time, and workload by workload.
import { useState } from "react";

import { SelectField } from "@/components/ui/fields";
import { RouterLink } from "@/components/ui/router-link";
import { Figures } from "@/components/ui/figures";
import { Card } from "@/components/ui/layout";
import { type Head, PlainTable } from "@/components/ui/plain-table";
import { TimeChart } from "@/components/ui/time-chart";
import { PartialNote } from "@/components/ui/states";
import type { Backtest, BacktestResult } from "@/lib/api/types";
import { workloadAddress } from "@/lib/events";
import { byResource, formatAmount, shortResource } from "@/lib/format/amounts";

import { type Differing, differenceWords, instantsOf, type QueueOutcome, shiftWords, waitWords } from "../model/backtests";
import styles from "./backtests.module.css";

export function Result({ job, result }: { job: Backtest; result: BacktestResult }) {
  return (
    <>
      <Totals totals={result.totals} />
      <Card title="By queue" aside="actual → backtest">
        <Queues queues={result.queues} />
      </Card>
      <UsageCharts job={job} queues={result.queues} />
      <Card title="Affected workloads" aside={`${result.workloads.length}${result.listsAll ? "" : ", the first of more"}`} padded={result.workloads.length === 0}>
        {result.workloads.length === 0 ? <p>No differences in start time or placement.</p> : <Workloads workloads={result.workloads} />}
      </Card>
      <details className={styles.assumptions}>
        <summary>Assumptions of the backtest</summary>
        <ul>
          {result.assumptions.map((assumption) => (
            <li key={assumption}>{assumption}</li>
          ))}
        </ul>
      </details>
    </>
  );
}

/** The use of one resource at a time, GPUs first. */
function UsageCharts({ job, queues }: { job: Backtest; queues: QueueOutcome[] }) {
  const [chosen, setChosen] = useState("");
  const used = queues.flatMap((queue) => queue.usage.map((use) => ({ queue: queue.clusterQueue, ...use }))).sort((one, other) => one.queue.localeCompare(other.queue));
  const resources = [...new Set(used.map(({ resource }) => resource))].sort(byResource);
  const resource = resources.includes(chosen) ? chosen : (resources[0] ?? "");
  if (used.length === 0) return null;
  return (
    <Card title="Usage over time" aside={<span className={styles.legend}>dashed: actual, solid: backtest</span>}>
      <div className={styles.resource}>
        <SelectField label="Resource" value={resource} options={resources.map((value) => ({ value, words: shortResource(value) }))} onChange={(event) => setChosen(event.target.value)} />
      </div>
      <div className={styles.charts}>
        {used
          .filter((use) => use.resource === resource)
          .map((use) => (
            <UseChart key={`${use.queue}/${use.resource}`} job={job} use={use} />
          ))}
      </div>
    </Card>
  );
}

function Totals({ totals }: { totals: BacktestResult["totals"] }) {
  return (
    <>
      <Figures
        label="Summary"
        items={[
          { words: "Unchanged", value: `${totals.same} of ${totals.workloads}` },
          { words: "Start earlier", value: totals.earlier },
          { words: "Start later", value: totals.later },
          { words: "Only in backtest", value: totals.onlyBacktest },
          { words: "Only in actual", value: totals.onlyActual },
          { words: "Preemptions", value: `${totals.preemptionsActual} → ${totals.preemptionsBacktest}` },
          { words: "Placed elsewhere", value: `${totals.placesDiffer} of ${totals.startsCompared}` },
        ]}
      />
      {totals.passedOver > 0 && <PartialNote>{totals.passedOver} past events were not possible in the backtest and were skipped.</PartialNote>}
    </>
  );
}

/** Left out on a narrow screen. */
const SPARE_HEADS = ["Still pending", "Mean wait", "Preempted"];
const QUEUE_HEADS: Head[] = [
  "Queue",
  ...["Started", "Still pending", "Mean wait", "Median wait", "p95 wait", "Preempted"].map((words) => ({ words, figure: true as const, ...(SPARE_HEADS.includes(words) && { spare: true as const }) })),
];

function Queues({ queues }: { queues: QueueOutcome[] }) {
  return (
    <PlainTable label="Waiting times by queue" heads={QUEUE_HEADS}>
      {queues.map(({ clusterQueue, actual, backtest, preemptedActual, preemptedBacktest }) => (
        <tr key={clusterQueue}>
          <th scope="row">{clusterQueue || "none"}</th>
          <Change actual={actual.started} backtest={backtest.started} />
          <Change spare actual={actual.stillWaiting} backtest={backtest.stillWaiting} />
          <Change spare actual={waitWords(actual.meanMilliseconds)} backtest={waitWords(backtest.meanMilliseconds)} />
          <Change actual={waitWords(actual.p50Milliseconds)} backtest={waitWords(backtest.p50Milliseconds)} />
          <Change actual={waitWords(actual.p95Milliseconds)} backtest={waitWords(backtest.p95Milliseconds)} />
          <Change spare actual={preemptedActual} backtest={preemptedBacktest} />
        </tr>
      ))}
    </PlainTable>
  );
}

function Change({ actual, backtest, spare }: { actual: string | number; backtest: string | number; spare?: true }) {
  return <td data-figure data-spare={spare}>{actual === backtest ? actual : <>{actual} → <strong>{backtest}</strong></>}</td>;
}

interface UseChartProps {
  job: Backtest;
  use: QueueOutcome["usage"][number] & { queue: string };
  height?: "tall" | "short";
}

export function UseChart({ job, use: { queue, resource, actual, backtest }, height = "short" }: UseChartProps) {
  const times = instantsOf(job, backtest.length);
  return (
    <TimeChart
      label={`${shortResource(resource)} of ${queue}`}
      height={height}
      times={times}
      range={[times[0] ?? 0, times.at(-1) ?? 0]}
      series={[{ name: "backtest", values: backtest, color: "--accent" }]}
      limits={[{ name: "actual", values: actual, dashed: true }]}
      format={(value) => formatAmount(resource, value)}
    />
  );
}

function Workloads({ workloads }: { workloads: Differing[] }) {
  return (
    <PlainTable label="Affected workloads" heads={["Workload", "Queue", "What", { words: "By", figure: true }]}>
      {workloads.map((one) => (
        <tr key={one.workload}>
          <td>
            <RouterLink to={workloadAddress(one.workload)}>{one.workload}</RouterLink>
          </td>
          <td>{one.clusterQueue}</td>
          <td>{differenceWords(one)}</td>
          <td data-figure>{shiftWords(one)}</td>
        </tr>
      ))}
    </PlainTable>
  );
}
