// The rows of workloads, singly or below the sums of their groups.
import { ChevronDown, ChevronRight } from "lucide-react";
import type { ReactNode } from "react";

import { ObjectName } from "@/components/ui/object-name";
import { PhaseBadge, phaseWords } from "@/components/ui/phase-badge";
import { Timestamp } from "@/components/ui/timestamp";
import { type Column, VirtualTable } from "@/components/ui/virtual-table";
import type { Status, WorkloadGroup, WorkloadRow } from "@/lib/api/types";
import { formatAmount } from "@/lib/format/amounts";
import { formatDuration } from "@/lib/format/times";

import { exact } from "../model/filter-text";
import { COLUMN_WORDS, type ColumnName, ORDERED } from "../model/grid";
import { rowKey } from "../model/list-anchor";
import { groupWords, reasonOf } from "../model/summary";
import styles from "./workloads-page.module.css";

export type GridItem =
  | { kind: "row"; row: WorkloadRow; isGone?: boolean }
  | { kind: "group"; group: WorkloadGroup; words: ReactNode; open: boolean }
  | { kind: "more"; group: WorkloadGroup; left: number };

interface Look {
  width: string;
  narrow?: string;
  below?: boolean;
  spare?: boolean;
  end?: boolean;
  isIcon?: "narrow";
  cell: (row: WorkloadRow, onFilter: (token: string) => void) => ReactNode;
}

const number = (value: ReactNode) => <span className="number">{value}</span>;
const duration = (seconds: number) => (seconds > 0 ? number(formatDuration(seconds)) : "—");

const LOOKS: Record<ColumnName, Look> = {
  phase: {
    width: "8.5rem",
    // The word where there is room for it, else the glyph.
    narrow: "clamp(2.75rem, (100cqi - 30rem) * 99, 8rem)",
    isIcon: "narrow",
    cell: (row) => (
      <span className={styles.phase} title={phaseWords(row.status as Status)}>
        <PhaseBadge phase={row.status as Status} />
      </span>
    ),
  },
  name: { width: "minmax(8rem, 1.6fr)", narrow: "minmax(0, 1fr)", cell: (row) => <ObjectName name={rowKey(row)} short /> },
  owner: { width: "minmax(4rem, 0.5fr)", spare: true, cell: (row, onFilter) => <Only token={exact("owner", row.owner)} words={row.owner} onFilter={onFilter} /> },
  queue: {
    width: "minmax(5rem, 0.6fr)",
    spare: true,
    cell: (row, onFilter) => <Only token={exact("queue", `${row.namespace}/${row.localQueue}`)} words={row.localQueue} onFilter={onFilter} />,
  },
  clusterQueue: {
    width: "minmax(5rem, 0.6fr)",
    spare: true,
    cell: (row, onFilter) => <Only token={exact("clusterQueue", row.clusterQueue)} words={row.clusterQueue} onFilter={onFilter} />,
  },
  gpu: { width: "3.5rem", narrow: "2.75rem", end: true, cell: (row) => number(row.gpus) },
  cpu: { width: "4rem", end: true, cell: (row) => number(formatAmount("cpu", row.cpuMilli)) },
  memory: { width: "5.5rem", end: true, cell: (row) => number(formatAmount("memory", row.memoryBytes)) },
  pods: { width: "3.5rem", spare: true, end: true, cell: (row) => number(row.pods) },
  priority: { width: "4.5rem", end: true, cell: (row) => number(row.priority) },
  wait: { width: "5rem", end: true, cell: (row) => duration(row.waitSeconds) },
  run: { width: "5.5rem", spare: true, end: true, cell: (row) => duration(row.runSeconds) },
  submitted: { width: "6.5rem", end: true, cell: (row) => <Timestamp at={row.submittedAt} /> },
  ended: { width: "6.5rem", end: true, cell: (row) => <Timestamp at={row.endedAt} /> },
  requeues: { width: "5rem", end: true, cell: (row) => number(row.requeues) },
  flavors: { width: "minmax(5rem, 0.6fr)", cell: (row) => row.flavors.join(", ") },
  executors: { width: "minmax(5rem, 0.6fr)", cell: (row) => row.executors.join(", ") || "—" },
  labels: {
    width: "minmax(6rem, 1fr)",
    cell: (row) => Object.entries(row.labels).map(([key, value]) => `${key}=${value}`).join(", "),
  },
  reason: { width: "minmax(10rem, 2.4fr)", below: true, cell: (row) => <Reason row={row} /> },
};

export interface WorkloadTableProps {
  items: GridItem[];
  columns: ColumnName[];
  order: string;
  onOrder: (name: ColumnName) => void;
  onMove: (name: ColumnName, place: number) => void;
  opened: string;
  onOpen: (row: WorkloadRow) => void;
  onGroup: (group: WorkloadGroup) => void;
  onMore: (group: WorkloadGroup) => void;
  onFilter: (token: string) => void;
  selection: Record<string, true>;
  onSelection: (selection: Record<string, true>) => void;
  onEnd: () => void;
}

export function WorkloadTable({ items, columns, order, onOrder, onMove, opened, onOpen, onGroup, onMore, onFilter, selection, onSelection, onEnd }: WorkloadTableProps) {
  const looks: Column<GridItem>[] = columns.map((name) => {
    const { cell, ...look } = LOOKS[name];
    return { id: name, header: COLUMN_WORDS[name], ordered: ORDERED.includes(name), ...look, cell: (item) => (item.kind === "row" ? cellOf(item, name, columns, cell(item.row, onFilter)) : item.kind === "group" ? sumOf(item, name, columns) : null) };
  });
  const isGrouped = items.some(({ kind }) => kind === "group");
  return (
    <VirtualTable
      label="Workloads"
      columns={looks}
      rows={items}
      rowKey={itemKey}
      order={order}
      onOrder={(name) => onOrder(name as ColumnName)}
      onMove={(name, place) => onMove(name as ColumnName, place)}
      whole={(item) => item.kind === "more" && <span className={styles.soft}>{item.left} more in this group. Open to list them all</span>}
      {...(isGrouped && {
        tree: {
          branchOf: (item: GridItem) => ({ depth: item.kind === "group" ? 0 : 1, isOpen: item.kind === "group" ? item.open : undefined }),
          onFold: (item: GridItem) => item.kind === "group" && onGroup(item.group),
        },
      })}
      opened={opened}
      onOpen={(item) => {
        if (item.kind === "row") onOpen(item.row);
        else if (item.kind === "group") onGroup(item.group);
        else onMore(item.group);
      }}
      selection={selection}
      onSelection={onSelection}
      onEnd={onEnd}
    />
  );
}

export function itemKey(item: GridItem): string {
  if (item.kind === "row") return rowKey(item.row);
  return item.kind === "group" ? groupKey(item.group) : `${item.kind} ${item.group.value}`;
}

export function groupKey({ value }: WorkloadGroup): string {
  return `group ${value}`;
}

/** The cell of a row; one that is no part of the list any more says so in place of its reason. */
function cellOf({ isGone }: Extract<GridItem, { kind: "row" }>, name: ColumnName, columns: ColumnName[], cell: ReactNode): ReactNode {
  if (!isGone || name !== (columns.includes("reason") ? "reason" : "name")) return cell;
  return (
    <span className={styles.gone}>
      {name === "name" && <>{cell} </>}
      no longer matches
    </span>
  );
}

const SUMMED: readonly ColumnName[] = ["gpu", "pods", "reason"];

/** What the head of a group has in a column: its name in the first, sums below their heads, and how its workloads stand. */
function sumOf({ group, words, open }: Extract<GridItem, { kind: "group" }>, name: ColumnName, columns: ColumnName[]): ReactNode {
  if (name === "gpu" || name === "pods") {
    const sum = (name === "gpu" ? group.gpus : group.pods).toLocaleString("en");
    return (
      <strong className="number">
        {sum}
        <span className="visually-hidden"> {name === "gpu" ? "GPU" : "pods"}</span>
      </strong>
    );
  }
  if (name === "reason") return <span className={styles.soft}>{groupWords(group)}</span>;
  const first = columns.findIndex((column) => !SUMMED.includes(column));
  if (name !== columns[first]) return null;
  const Chevron = open ? ChevronDown : ChevronRight;
  const next = columns[first + 1];
  return (
    <span className={styles.group} data-spills={next !== undefined && !SUMMED.includes(next) ? "" : undefined}>
      <Chevron aria-hidden="true" />
      <strong>{words}</strong>
      <span className={`${styles.soft ?? ""} number`}>
        {group.count.toLocaleString("en")} {group.count === 1 ? "workload" : "workloads"}
      </span>
    </span>
  );
}

/** A value of a cell that narrows the list to itself, or with Shift leaves itself out. */
function Only({ token, words, onFilter }: { token: string; words: string; onFilter: (token: string) => void }) {
  if (words === "") return <>—</>;
  return (
    <button
      type="button"
      className={styles.only}
      title={`Show only ${token}; with Shift, leave it out`}
      tabIndex={-1}
      onClick={(event) => onFilter(event.shiftKey ? `-${token}` : token)}
    >
      {words}
    </button>
  );
}

function Reason({ row }: { row: WorkloadRow }) {
  const { short, whole } = reasonOf(row);
  return (
    <span className={styles.reason} title={whole}>
      <span className={styles.short}>
        <span className={styles.narrow}>{row.namespace}: </span>
        {short}
      </span>
      {row.waitSeconds > 0 && <span className={`${styles.narrow ?? ""} number`}>{formatDuration(row.waitSeconds)}</span>}
    </span>
  );
}
