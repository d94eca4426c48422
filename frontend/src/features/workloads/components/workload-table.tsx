// The rows of workloads.
import { type Column, VirtualTable } from "@/components/ui/virtual-table";
import { Timestamp } from "@/components/ui/timestamp";
import { ObjectName } from "@/components/ui/object-name";
import { PhaseBadge, statusOf } from "@/components/ui/phase-badge";
import type { WorkloadObject } from "@/lib/api/types";

import { keyOf } from "../model/list-anchor";
import { podCount, reasonOf } from "../model/summary";
import styles from "./workloads-page.module.css";

const COLUMNS: Column<WorkloadObject>[] = [
  {
    id: "phase",
    header: "Phase",
    width: "8.5rem",
    narrow: "8rem",
    cell: ({ status }) => <PhaseBadge phase={statusOf(status?.phase ?? "Pending", status?.explanation?.dominant)} />,
  },
  {
    id: "name",
    header: "Workload",
    width: "minmax(0, 1.4fr)",
    narrow: "minmax(0, 1fr)",
    cell: (row) => <ObjectName name={keyOf(row)} />,
  },
  { id: "queue", header: "LocalQueue", width: "minmax(0, 0.6fr)", cell: (row) => row.spec.queueName ?? "—" },
  {
    id: "reason",
    header: "Reason",
    width: "minmax(0, 2.4fr)",
    below: true,
    cell: (row) => {
      const { short, whole } = reasonOf(row);
      return (
        <span className={styles.soft} title={whole}>
          {short}
        </span>
      );
    },
  },
  { id: "pods", header: "Pods", width: "3.5rem", end: true, cell: (row) => <span className="number">{podCount(row)}</span> },
  {
    id: "priority",
    header: "Priority",
    width: "4.5rem",
    end: true,
    cell: (row) => <span className="number">{row.status?.priority ?? row.spec.priority ?? 0}</span>,
  },
  {
    id: "age",
    header: "Submitted",
    width: "6.5rem",
    end: true,
    cell: (row) => <Timestamp at={row.metadata.creationTimestamp} />,
  },
];

export interface WorkloadTableProps {
  rows: WorkloadObject[];
  opened: string;
  onOpen: (row: WorkloadObject) => void;
  selection: Record<string, true>;
  onSelection: (selection: Record<string, true>) => void;
  onEnd: () => void;
}

export function WorkloadTable(props: WorkloadTableProps) {
  return <VirtualTable label="Workloads" columns={COLUMNS} rowKey={keyOf} {...props} />;
}
