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
import { PHONE, useMedia } from "@/lib/hooks/use-media";

import { isUnfinished, type QueueOutcome, rangeWordsOf, waitWords } from "../model/backtests";
import type { QuotaChange } from "../model/lab";
import styles from "./lab.module.css";
import type { LabRun } from "./lab-page";
import { UseChart } from "./result";

export interface LabResultProps {
  run: LabRun;
  changes: QuotaChange[];
  resource: string;
  /** The ClusterQueue that the page was opened for. */
  chosen: string;
}

export function LabResult({ run, changes, resource, chosen }: LabResultProps) {
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
        {job?.result && <Outcome job={job} result={job.result} resource={resource} chosen={chosen} />}
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

interface OutcomeProps {
  job: Backtest;
  result: BacktestResult;
  resource: string;
  chosen: string;
}

function Outcome({ job, result, resource, chosen }: OutcomeProps) {
  const { totals, queues } = result;
  const isPhone = useMedia(PHONE);
  const known = totals.startsCompared === 0 ? 100 : Math.round((100 * (totals.startsCompared - Math.min(totals.unknownRunTimes, totals.startsCompared))) / totals.startsCompared);
  return (
    <>
      {isPhone ? <QueueCards queues={queues} /> : <QueueTable queues={queues} />}
      <div className={styles.affected}>
        <p>
          {totals.workloads} workloads: {totals.earlier} start earlier, {totals.later} later, {totals.onlyBacktest} only in the backtest, {totals.onlyActual} do not start
        </p>
        <RouterLink to={`/simulations/${encodeURIComponent(job.id)}`}>All differences</RouterLink>
      </div>
      <Use job={job} queues={queues} resource={resource} first={chosen} />
      <p className={styles.basis}>Basis: {known} % of run times known, arrivals as recorded.</p>
    </>
  );
}

const MEASURES = [
  { words: "Wait p50", before: (queue: QueueOutcome) => queue.actual.p50Milliseconds, after: (queue: QueueOutcome) => queue.backtest.p50Milliseconds, told: waitWords },
  { words: "Wait p95", before: (queue: QueueOutcome) => queue.actual.p95Milliseconds, after: (queue: QueueOutcome) => queue.backtest.p95Milliseconds, told: waitWords },
  { words: "Not started", before: (queue: QueueOutcome) => queue.actual.stillWaiting, after: (queue: QueueOutcome) => queue.backtest.stillWaiting, told: String, spare: true as const },
  { words: "Preempted", before: (queue: QueueOutcome) => queue.preemptedActual, after: (queue: QueueOutcome) => queue.preemptedBacktest, told: String },
];

function QueueTable({ queues }: { queues: QueueOutcome[] }) {
  return (
    <PlainTable label="Waits and preemptions by queue" heads={["Queue", ...MEASURES.map(({ words, spare }) => ({ words, figure: true as const, ...(spare && { spare }) }))]}>
      {queues.map((queue) => (
        <tr key={queue.clusterQueue}>
          <th scope="row">{queue.clusterQueue || "none"}</th>
          {MEASURES.map(({ words, before, after, told, spare }) => (
            <td key={words} data-figure data-spare={spare} className={styles.figure}>
              <Shift before={before(queue)} after={after(queue)} words={told} />
            </td>
          ))}
        </tr>
      ))}
    </PlainTable>
  );
}

/** One card for each queue, where a table has no room. */
function QueueCards({ queues }: { queues: QueueOutcome[] }) {
  return (
    <ul className={styles.queueCards} aria-label="Waits and preemptions by queue">
      {queues.map((queue) => (
        <li key={queue.clusterQueue}>
          <strong>{queue.clusterQueue || "none"}</strong>
          <dl>
            {MEASURES.map(({ words, before, after, told }) => (
              <div key={words} className={styles.figure}>
                <dt>{words}</dt>
                <dd>
                  <Shift before={before(queue)} after={after(queue)} words={told} />
                </dd>
              </div>
            ))}
          </dl>
        </li>
      ))}
    </ul>
  );
}

/** The value before and after, with an arrow and a word where they differ. */
function Shift({ before, after, words }: { before: number; after: number; words: (value: number) => string }) {
  const [from, to] = [words(before), words(after)];
  if (from === to) return to;
  const Arrow = after < before ? ArrowDown : ArrowUp;
  return (
    <>
      <span className={styles.before}>{from} →</span> {to}{" "}
      <span data-tone={after < before ? "good" : "bad"}>
        <Arrow aria-label={after < before ? "less" : "more"} />
      </span>
    </>
  );
}

const ALL = "";

/** Use of the resource over the replayed time, of all queues or one. */
function Use({ job, queues, resource, first }: { job: Backtest; queues: QueueOutcome[]; resource: string; first: string }) {
  const [asked, setChosen] = useState(first);
  const used = queues.flatMap(({ clusterQueue, usage }) => usage.filter((use) => use.resource === resource).map((use) => ({ queue: clusterQueue, ...use })));
  const chosen = used.some(({ queue }) => queue === asked) ? asked : ALL;
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
