// What preemptions cost in sum: by preemptor, and by pair of queues.
import { useMemo } from "react";

import { Card, ListFrame } from "@/components/ui/layout";
import { ObjectName } from "@/components/ui/object-name";
import { type Head, PlainTable } from "@/components/ui/plain-table";
import { Timestamp } from "@/components/ui/timestamp";
import { type Column, VirtualTable } from "@/components/ui/virtual-table";
import type { Round } from "@/lib/api/types";
import { gpuHours } from "@/lib/format/amounts";

import { type PreemptorSum, preemptorSums, queuePairs } from "../model/ledger";
import styles from "./preemptions.module.css";

const SUM_COLUMNS: Column<PreemptorSum>[] = [
  { id: "preemptor", header: "Preemptor", width: "minmax(0, 1.5fr)", narrow: "minmax(0, 1fr)", cell: (sum) => <ObjectName name={sum.preemptor} /> },
  { id: "queue", header: "ClusterQueue", width: "minmax(0, 1fr)", spare: true, cell: (sum) => sum.clusterQueue },
  { id: "priority", header: "Priority", width: "4.5rem", spare: true, end: true, cell: (sum) => <span className="number">{sum.priority}</span> },
  { id: "rule", header: "Rule", width: "minmax(0, 1.2fr)", below: true, cell: (sum) => sum.rules.join(", ") },
  { id: "rounds", header: "Rounds", width: "4.5rem", end: true, cell: (sum) => <span className="number">{sum.rounds}</span> },
  { id: "victims", header: "Victims", width: "4.5rem", end: true, cell: (sum) => <span className="number">{sum.victims}</span> },
  { id: "cost", header: "Cost", width: "7rem", narrow: "6.5rem", end: true, cell: (sum) => <span className="number">{gpuHours(sum.gpuSeconds)}</span> },
  { id: "last", header: "Last", width: "6rem", cell: (sum) => <Timestamp at={sum.last} /> },
];

export function Preemptors({ rounds, more, onEnd, onOpen }: { rounds: Round[]; more: boolean; onEnd: () => void; onOpen: (workload: string) => void }) {
  const sums = useMemo(() => preemptorSums(rounds), [rounds]);
  return (
    <ListFrame>
      <VirtualTable label="Preemptors, most costly first" columns={SUM_COLUMNS} rows={sums} rowKey={(sum) => sum.preemptor} onOpen={(sum) => onOpen(sum.preemptor)} onEnd={onEnd} />
      {more && <p className={styles.quiet}>the newest {rounds.length} rounds</p>}
    </ListFrame>
  );
}

export function QueuePairs({ rounds }: { rounds: Round[] }) {
  const figures: Head[] = [{ words: "Rounds", figure: true }, { words: "Victims", figure: true, spare: true }, { words: "Cost", figure: true }];
  return (
    <Card title="By queue pair">
      <PlainTable label="Preemptions by queue pair" heads={["Preemptor queue", "Victim queue", ...figures]}>
        {queuePairs(rounds).map((pair) => (
          <tr key={`${pair.preemptor} ${pair.victim}`}>
            <th scope="row">{pair.preemptor}</th>
            <td>{pair.victim}</td>
            <td data-figure>{pair.rounds}</td>
            <td data-figure data-spare>
              {pair.victims}
            </td>
            <td data-figure>{gpuHours(pair.gpuSeconds)}</td>
          </tr>
        ))}
      </PlainTable>
    </Card>
  );
}
