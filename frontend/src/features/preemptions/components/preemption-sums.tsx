// What preemptions cost in sum: by preemptor, pair of queues, queue and rule, and which workloads repeat.
import { TriangleAlert } from "lucide-react";

import { Button } from "@/components/ui/button";
import { Card, ListFrame } from "@/components/ui/layout";
import { ObjectName } from "@/components/ui/object-name";
import { type Head, PlainTable } from "@/components/ui/plain-table";
import { RouterLink } from "@/components/ui/router-link";
import { Timestamp } from "@/components/ui/timestamp";
import { type Column, VirtualTable } from "@/components/ui/virtual-table";
import type { PreemptionSummary } from "@/lib/api/types";
import { workloadAddress } from "@/lib/events";
import { gpuHours } from "@/lib/format/amounts";
import { PHONE, useMedia } from "@/lib/hooks/use-media";

import type { Filters } from "../model/filters";
import { MAX_SUMS, type QueuePair, headlineWords, pairFigure, pairKey, pairMatrix, pairWords, repeatWords } from "../model/sums";
import styles from "./preemptions.module.css";

type PreemptorSum = PreemptionSummary["preemptors"][number];

const SUM_COLUMNS: Column<PreemptorSum>[] = [
  { id: "preemptor", header: "Preemptor", width: "minmax(0, 1.5fr)", narrow: "minmax(0, 1fr)", cell: (sum) => <ObjectName name={sum.preemptor} /> },
  { id: "queue", header: "ClusterQueue", width: "minmax(0, 1fr)", spare: true, cell: (sum) => sum.clusterQueue },
  { id: "priority", header: "Priority", width: "4.5rem", spare: true, end: true, cell: (sum) => <span className="number">{sum.priority}</span> },
  { id: "rule", header: "Rule", width: "minmax(0, 1.2fr)", below: true, cell: (sum) => sum.rules.join(", ") },
  { id: "rounds", header: "Rounds", width: "4.5rem", end: true, cell: (sum) => <span className="number">{sum.rounds}</span> },
  { id: "victims", header: "Victims", width: "4.5rem", end: true, cell: (sum) => <span className="number">{sum.victims}</span> },
  { id: "cost", header: "Cost", width: "7rem", narrow: "6.5rem", end: true, cell: (sum) => <span className="number">{gpuHours(sum.gpuSeconds)}</span> },
  { id: "last", header: "Last", width: "6rem", cell: (sum) => <Timestamp at={sum.lastAt} /> },
];

/** What was lost in the whole range, and whether workloads preempt each other again and again. */
export function Headline({ summary }: { summary: PreemptionSummary }) {
  const repeats = summary.repeated.length;
  return (
    <p className={styles.headline}>
      <span className="number">{headlineWords(summary)}</span>
      {repeats > 0 && (
        <span className={styles.warning}>
          , {repeats} {repeats === 1 ? "repeat" : "repeats"} <TriangleAlert aria-hidden="true" />
        </span>
      )}
    </p>
  );
}

export function Preemptors({ sums, onOpen }: { sums: PreemptorSum[]; onOpen: (workload: string) => void }) {
  return (
    <ListFrame>
      <VirtualTable label="Preemptors, most costly first" columns={SUM_COLUMNS} rows={sums} rowKey={(sum) => `${sum.preemptor} ${sum.lastAt}`} onOpen={(sum) => onOpen(sum.preemptor)} />
      {sums.length >= MAX_SUMS && <p className={styles.quiet}>the {MAX_SUMS} most costly</p>}
    </ListFrame>
  );
}

export interface QueuePairsProps {
  pairs: QueuePair[];
  filters: Filters;
  /** Narrows the page to what workloads of one queue preempted of another; empty names widen it again. */
  onChoose: (chosen: Pick<Filters, "preemptorQueue" | "victimQueue">) => void;
}

/** Which queue preempted in which, as a table of both; on a phone as a list, the most costly pair first. */
export function QueuePairs({ pairs, filters, onChoose }: QueuePairsProps) {
  const isPhone = useMedia(PHONE);
  const { preemptors, victims, pairs: known, unit, left } = pairMatrix(pairs);
  const button = (pair: QueuePair) => {
    const isChosen = filters.preemptorQueue === pair.preemptor && filters.victimQueue === pair.victim;
    const chosen = isChosen ? { preemptorQueue: "", victimQueue: "" } : { preemptorQueue: pair.preemptor, victimQueue: pair.victim };
    return (
      <button type="button" className={styles.count} title={pairWords(pair)} aria-label={pairWords(pair)} aria-pressed={isChosen} onClick={() => onChoose(chosen)}>
        {pairFigure(pair, unit)}
      </button>
    );
  };
  const heads: Head[] = isPhone ? ["Preemptor queue", "Victim queue", { words: unit, figure: true }] : ["Preemptor \\ victim", ...victims.map((words) => ({ words, figure: true as const }))];
  return (
    <Card title="Queue pairs" aside={left > 0 && !isPhone ? `${unit}, ${left} less costly queues left out` : unit}>
      <PlainTable label="Preemptions by queue pair" heads={heads}>
        {isPhone
          ? pairs.map((pair) => (
              <tr key={pairKey(pair.preemptor, pair.victim)}>
                <th scope="row">{pair.preemptor}</th>
                <td>{pair.victim}</td>
                <td data-figure>{button(pair)}</td>
              </tr>
            ))
          : preemptors.map((preemptor) => (
              <tr key={preemptor}>
                <th scope="row">{preemptor}</th>
                {victims.map((victim) => {
                  const pair = known.get(pairKey(preemptor, victim));
                  return (
                    <td key={victim} data-figure>
                      {pair === undefined ? "—" : button(pair)}
                    </td>
                  );
                })}
              </tr>
            ))}
      </PlainTable>
    </Card>
  );
}

/** What each queue preempted and lost, and what was preempted by each rule. */
export function QueuesAndRules({ summary }: { summary: PreemptionSummary }) {
  const figures = (...words: string[]): Head[] => words.map((each) => ({ words: each, figure: true }));
  return (
    <>
      <Card title="Queues">
        <PlainTable label="Preemptions by ClusterQueue" heads={["ClusterQueue", { words: "Rounds", figure: true, spare: true }, ...figures("Preempted", "Lost")]}>
          {summary.queues.map((queue) => (
            <tr key={queue.clusterQueue}>
              <th scope="row">
                <RouterLink to={`/queues/${encodeURIComponent(queue.clusterQueue)}`}>{queue.clusterQueue}</RouterLink>
              </th>
              <td data-figure data-spare>
                {queue.rounds}
              </td>
              <td data-figure>
                {queue.victims}, {gpuHours(queue.gpuSeconds)}
              </td>
              <td data-figure>
                {queue.victimsLost}, {gpuHours(queue.gpuSecondsLost)}
              </td>
            </tr>
          ))}
        </PlainTable>
      </Card>
      <Card title="Rules">
        <PlainTable label="Preemptions by rule" heads={["Rule", ...figures("Rounds", "Victims", "Cost")]}>
          {summary.rules.map(({ rule, rounds, victims, gpuSeconds }) => (
            <tr key={rule}>
              <th scope="row">{rule}</th>
              <td data-figure>{rounds}</td>
              <td data-figure>{victims}</td>
              <td data-figure>{gpuHours(gpuSeconds)}</td>
            </tr>
          ))}
        </PlainTable>
      </Card>
    </>
  );
}

/** Workloads of which one preempted the other again and again. */
export function Repeated({ repeated, onOpen }: { repeated: PreemptionSummary["repeated"]; onOpen: (workload: string) => void }) {
  if (repeated.length === 0) return null;
  return (
    <Card title="Repeated" aside={`${repeated.length} ${repeated.length === 1 ? "pair" : "pairs"} of workloads`}>
      <ul className={styles.repeated} aria-label="Repeated preemptions">
        {repeated.slice(0, MAX_REPEATED).map((pair) => {
          const [one = "", other = ""] = pair.workloads;
          return (
            <li key={`${one} ${other}`}>
              <TriangleAlert className={styles.warning} aria-hidden="true" />
              <span>
                <RouterLink to={workloadAddress(one)}>{one}</RouterLink> ↔ <RouterLink to={workloadAddress(other)}>{other}</RouterLink>, {repeatWords(pair)}
              </span>
              <Button look="quiet" aria-label={`Open the rounds of ${one}`} onClick={() => onOpen(one)}>
                Open
              </Button>
            </li>
          );
        })}
      </ul>
    </Card>
  );
}

const MAX_REPEATED = 20;
