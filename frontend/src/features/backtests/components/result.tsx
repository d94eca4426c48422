// What differs: in all, by queue with its use over time, and workload by workload.
import { RouterLink } from "@/components/ui/router-link";
import { Card } from "@/components/ui/layout";
import { PlainTable } from "@/components/ui/plain-table";
import { PartialNote } from "@/components/ui/states";
import type { BacktestResult } from "@/lib/api/types";
import { workloadAddress } from "@/lib/events";

import { type Differing, differenceWords, linePath, type QueueOutcome, shiftWords, waitWords } from "../model/backtests";
import styles from "./backtests.module.css";

export function Result({ result }: { result: BacktestResult }) {
  const used = result.queues.flatMap((queue) => queue.use.map((use) => ({ queue: queue.clusterQueue, ...use })));
  return (
    <>
      <Totals totals={result.totals} />
      <Card title="By queue" aside="then → in the rehearsal">
        <Queues queues={result.queues} />
      </Card>
      {used.length > 0 && (
        <Card title="Use over time" aside={<span className={styles.legend}>dashed: then, solid: in the rehearsal</span>}>
          <div className={styles.charts}>
            {used.map((use) => (
              <UseChart key={`${use.queue}/${use.resource}`} name={`${use.queue} ${use.resource}`} then={use.then} here={use.rehearsed} />
            ))}
          </div>
        </Card>
      )}
      <Card title="Workloads that fare differently" aside={`${result.workloads.length}${result.listsAll ? "" : ", the first of more"}`} padded={result.workloads.length === 0}>
        {result.workloads.length === 0 ? <p>Every workload starts in the same second and the same place.</p> : <Workloads workloads={result.workloads} />}
      </Card>
      <ul className={styles.assumptions}>
        {result.assumptions.map((assumption) => (
          <li key={assumption}>{assumption}</li>
        ))}
      </ul>
    </>
  );
}

function Totals({ totals }: { totals: BacktestResult["totals"] }) {
  const figures: [string, string | number][] = [
    ["Fare the same", `${totals.same} of ${totals.workloads}`],
    ["Start earlier", totals.earlier],
    ["Start later", totals.later],
    ["Start only here", totals.onlyRehearsed],
    ["Do not start here", totals.onlyThen],
    ["Preemptions", `${totals.preemptionsThen} → ${totals.preemptionsRehearsed}`],
    ["Other places", `${totals.placesDiffer} of ${totals.startsCompared}`],
  ];
  return (
    <Card title="In all" padded>
      <dl className={styles.figures}>
        {figures.map(([words, value]) => (
          <div key={words}>
            <dt>{words}</dt>
            <dd className="number">{value}</dd>
          </div>
        ))}
      </dl>
      {totals.passedOver > 0 && <PartialNote>{totals.passedOver} things that happened then were not possible in the rehearsal and were passed over.</PartialNote>}
    </Card>
  );
}

function Queues({ queues }: { queues: QueueOutcome[] }) {
  return (
    <PlainTable label="Waiting times by queue" heads={["Queue", "Started", "Still waiting", "Mean wait", "Median wait", "95 of 100 within", "Preempted"]}>
      {queues.map(({ clusterQueue, then, rehearsed, preemptedThen, preemptedRehearsed }) => (
        <tr key={clusterQueue}>
          <th scope="row">{clusterQueue || "none"}</th>
          <Change then={then.started} here={rehearsed.started} />
          <Change then={then.stillWaiting} here={rehearsed.stillWaiting} />
          <Change then={waitWords(then.meanMilliseconds)} here={waitWords(rehearsed.meanMilliseconds)} />
          <Change then={waitWords(then.p50Milliseconds)} here={waitWords(rehearsed.p50Milliseconds)} />
          <Change then={waitWords(then.p95Milliseconds)} here={waitWords(rehearsed.p95Milliseconds)} />
          <Change then={preemptedThen} here={preemptedRehearsed} />
        </tr>
      ))}
    </PlainTable>
  );
}

function Change({ then, here }: { then: string | number; here: string | number }) {
  return <td className="number">{then === here ? then : `${then} → ${here}`}</td>;
}

function UseChart({ name, then, here }: { name: string; then: number[]; here: number[] }) {
  const peak = Math.max(1, ...then, ...here);
  return (
    <figure aria-label={`Use of ${name}: at most ${Math.max(0, ...then)} then, ${Math.max(0, ...here)} in the rehearsal`}>
      <svg className={styles.plot} viewBox="0 0 100 100" preserveAspectRatio="none" aria-hidden="true">
        <path className={styles.then} d={linePath(then, peak)} />
        <path className={styles.here} d={linePath(here, peak)} />
      </svg>
      <figcaption className={styles.caption}>{name}</figcaption>
    </figure>
  );
}

function Workloads({ workloads }: { workloads: Differing[] }) {
  return (
    <PlainTable label="Every workload that fares differently" heads={["Workload", "Queue", "What", "By"]}>
      {workloads.map((one) => (
        <tr key={one.workload}>
          <td>
            <RouterLink to={workloadAddress(one.workload)}>{one.workload}</RouterLink>
          </td>
          <td>{one.clusterQueue}</td>
          <td>{differenceWords(one)}</td>
          <td className="number">{shiftWords(one)}</td>
        </tr>
      ))}
    </PlainTable>
  );
}
