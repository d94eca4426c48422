// What the replay says of the quotas that are tried: waits and preemptions by queue, and use over time.
import { ArrowDown, ArrowUp } from "lucide-react";
import { useState } from "react";

import { Button } from "@/components/ui/button";
import { SelectField } from "@/components/ui/fields";
import { Card } from "@/components/ui/layout";
import { PlainTable } from "@/components/ui/plain-table";
import { RouterLink } from "@/components/ui/router-link";
import { Empty, Failed, PartialNote } from "@/components/ui/states";
import type { Backtest, BacktestResult } from "@/lib/api/types";

import { isUnfinished, type QueueOutcome, rangeWordsOf, waitWords } from "../model/backtests";
import type { QuotaChange } from "../model/lab";
import styles from "./lab.module.css";
import type { LabRun } from "./lab-page";
import { UseChart } from "./result";

export interface LabResultProps {
  run: LabRun;
  changes: QuotaChange[];
  resource: string;
}

export function LabResult({ run, changes, resource }: LabResultProps) {
  const { job, isStarting, isSample, onFull, error } = run;
  return (
    <Card
      title="Result, actual → backtest"
      aside={
        <span className={styles.aside}>
          {job && `${isSample ? "sample, " : ""}${rangeWordsOf(job)}`}
          {job && isSample && <Button onClick={onFull}>Run on the whole range</Button>}
        </span>
      }
    >
      <div className={styles.result} data-idle={changes.length === 0}>
        {changes.length > 0 && (
          <ul className={styles.changes} aria-label="Changes">
            {changes.map(({ key, words }) => (
              <li key={key}>{words}</li>
            ))}
          </ul>
        )}
        <Progress job={job} isStarting={isStarting} />
        {changes.length === 0 && (
          <Empty title="No quota is changed">
            <p>Change a quota. The past is replayed with it, and nothing is applied.</p>
          </Empty>
        )}
        {error !== null && error !== undefined && <Failed error={error} />}
        {job?.failure && <PartialNote>{job.failure}</PartialNote>}
        {job?.result && <Outcome job={job} result={job.result} resource={resource} />}
      </div>
    </Card>
  );
}

/** One line of fixed height: what the replay is doing. */
function Progress({ job, isStarting }: { job: Backtest | undefined; isStarting: boolean }) {
  const isRunning = job !== undefined && isUnfinished(job);
  return (
    <p className={styles.progress} role="status">
      {isStarting ? "Starting the backtest…" : isRunning ? `Backtest ${job.percent} %` : job?.state === "Done" ? "Backtest done" : ""}
      {isRunning && <progress aria-label="Progress" max={100} value={job.percent} />}
    </p>
  );
}

function Outcome({ job, result, resource }: { job: Backtest; result: BacktestResult; resource: string }) {
  const { totals, queues } = result;
  const known = totals.startsCompared === 0 ? 100 : Math.round((100 * (totals.startsCompared - Math.min(totals.unknownRunTimes, totals.startsCompared))) / totals.startsCompared);
  return (
    <>
      <PlainTable label="Waits and preemptions by queue" heads={["Queue", { words: "Wait p50", figure: true }, { words: "Wait p95", figure: true }, { words: "Not started", figure: true, spare: true }, { words: "Preempted", figure: true }]}>
        {queues.map((queue) => (
          <tr key={queue.clusterQueue}>
            <th scope="row">{queue.clusterQueue || "none"}</th>
            <Shift before={queue.actual.p50Milliseconds} after={queue.backtest.p50Milliseconds} words={waitWords} />
            <Shift before={queue.actual.p95Milliseconds} after={queue.backtest.p95Milliseconds} words={waitWords} />
            <Shift before={queue.actual.stillWaiting} after={queue.backtest.stillWaiting} words={String} spare />
            <Shift before={queue.preemptedActual} after={queue.preemptedBacktest} words={String} />
          </tr>
        ))}
      </PlainTable>
      <div className={styles.affected}>
        <p>
          {totals.workloads} workloads: {totals.earlier} start earlier, {totals.later} later, {totals.onlyBacktest} only in the backtest, {totals.onlyActual} do not start
        </p>
        <RouterLink to={`/simulations/${encodeURIComponent(job.id)}`}>All differences</RouterLink>
      </div>
      <Use job={job} queues={queues} resource={resource} />
      <p className={styles.basis}>Basis: {known} % of run times known, arrivals as recorded.</p>
    </>
  );
}

function Shift({ before, after, words, spare }: { before: number; after: number; words: (value: number) => string; spare?: boolean }) {
  const [from, to] = [words(before), words(after)];
  const Arrow = after < before ? ArrowDown : ArrowUp;
  return (
    <td data-figure data-spare={spare || undefined} className={styles.figure}>
      {from === to ? (
        to
      ) : (
        <>
          <span className={styles.before}>{from} →</span> {to}{" "}
          <span data-tone={after < before ? "good" : "bad"}>
            <Arrow aria-label={after < before ? "less" : "more"} />
          </span>
        </>
      )}
    </td>
  );
}

const ALL = "";

/** Use of the resource over the replayed time, of all queues or one. */
function Use({ job, queues, resource }: { job: Backtest; queues: QueueOutcome[]; resource: string }) {
  const [chosen, setChosen] = useState(ALL);
  const used = queues.flatMap(({ clusterQueue, usage }) => usage.filter((use) => use.resource === resource).map((use) => ({ queue: clusterQueue, ...use })));
  const shown = chosen === ALL ? used : used.filter(({ queue }) => queue === chosen);
  if (used.length === 0) return null;
  const length = Math.max(...shown.map(({ backtest }) => backtest.length), 0);
  const sumOf = (side: "actual" | "backtest") => Array.from({ length }, (_, index) => shown.reduce((sum, use) => sum + (use[side][index] ?? 0), 0));
  return (
    <div className={styles.use}>
      <UseChart job={job} use={{ queue: chosen || "all queues", resource, actual: sumOf("actual"), backtest: sumOf("backtest") }} height="tall" />
      <SelectField label="Use of" value={chosen} options={[{ value: ALL, words: "All queues" }, ...used.map(({ queue }) => ({ value: queue, words: queue }))]} onChange={(event) => setChosen(event.target.value)} />
    </div>
  );
}
