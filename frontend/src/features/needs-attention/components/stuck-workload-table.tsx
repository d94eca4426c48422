// The table of stuck workloads.
import { type Column, VirtualTable, type Selection } from "@/components/ui/virtual-table";
import { Timestamp } from "@/components/ui/timestamp";
import { ObjectName } from "@/components/ui/object-name";
import { PhaseBadge } from "@/components/ui/phase-badge";
import type { StuckWorkload, Phase } from "@/lib/api/types";

import { causeWords, keyOf } from "../model/stuck-workloads";
import styles from "./needs-attention.module.css";

const COLUMNS: Column<StuckWorkload>[] = [
  { id: "phase", header: "Phase", width: "8.5rem", narrow: "8rem", cell: (row) => <PhaseBadge phase={row.phase as Phase} /> },
  {
    id: "name",
    header: "Workload",
    width: "minmax(0, 1.5fr)",
    narrow: "minmax(0, 1fr)",
    cell: (row) => <ObjectName name={row.workload} />,
  },
  { id: "cause", header: "Cause", width: "11rem", spare: true, cell: (row) => causeWords(row.cause) },
  {
    id: "why",
    header: "Reason",
    width: "minmax(0, 3fr)",
    below: true,
    cell: (row) => (
      <span className={styles.soft} title={row.sentence}>
        {row.sentence}
      </span>
    ),
  },
  { id: "attempts", header: "Requeues", width: "5rem", spare: true, end: true, cell: (row) => <span className="number">{row.attempts ?? 0}</span> },
  { id: "next", header: "Next retry", width: "6.5rem", end: true, cell: (row) => <Timestamp at={row.nextTryAt} /> },
  { id: "since", header: "Since", width: "6.5rem", spare: true, end: true, cell: (row) => <Timestamp at={row.since} /> },
];

export interface StuckWorkloadTableProps {
  rows: StuckWorkload[];
  opened: string;
  onOpen: (row: StuckWorkload) => void;
  selection: Selection;
  onSelection: (selection: Record<string, true>) => void;
}

export function StuckWorkloadTable(props: StuckWorkloadTableProps) {
  return <VirtualTable label="Stuck workloads" columns={COLUMNS} rowKey={keyOf} {...props} />;
}
