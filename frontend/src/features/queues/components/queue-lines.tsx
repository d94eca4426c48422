// The pending workloads of a queue in order with their reasons, and the admitted ones.
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";

import { type Column, VirtualTable } from "@/components/ui/virtual-table";
import { Card } from "@/components/ui/layout";
import { ObjectName } from "@/components/ui/object-name";
import { PhaseBadge, statusOf } from "@/components/ui/phase-badge";
import { Empty } from "@/components/ui/states";
import { View } from "@/components/ui/view";
import type { Status, WorkloadRow } from "@/lib/api/types";
import { workloadAddress } from "@/lib/events";
import { formatDuration, formatShortTime } from "@/lib/format/times";
import { useTimeRange } from "@/lib/hooks/use-time-range";

import { admittedQuery, pendingQuery, waitTimesQuery } from "../api/queues";
import { constraintBar, type PendingRow, pendingRows, startWords } from "../model/pending";
import styles from "./queue-page.module.css";

function keyOf({ metadata, note }: PendingRow): string {
  return note ?? `${metadata.namespace}/${metadata.name}`;
}

function rowKey({ namespace, name }: WorkloadRow): string {
  return `${namespace}/${name}`;
}

const NAME = { id: "name", header: "Workload", width: "minmax(9rem, 1.8fr)", narrow: "minmax(0, 1fr)" } as const;
const PHASE = { id: "phase", header: "Phase", width: "8.5rem", narrow: "7.5rem" } as const;
const OWNER = { id: "owner", header: "Owner", width: "minmax(4rem, 0.6fr)", spare: true } as const;
const GPU = { id: "gpu", header: "GPU", width: "3rem", narrow: "2.5rem", end: true } as const;
const PRIORITY = { id: "priority", header: "Priority", width: "4rem", spare: true, end: true } as const;

const PENDING: Column<PendingRow>[] = [
  {
    id: "position",
    header: "#",
    width: "2.5rem",
    narrow: "2rem",
    end: true,
    cell: (row) => <span className="number">{row.positionInClusterQueue + 1}</span>,
  },
  { ...PHASE, cell: (row) => <PhaseBadge phase={statusOf(row.phase, row.dominant)} /> },
  { ...NAME, cell: (row) => <ObjectName name={keyOf(row)} /> },
  { ...OWNER, cell: (row) => row.owner || "—" },
  { ...GPU, cell: (row) => <span className="number">{row.gpus}</span> },
  { ...PRIORITY, cell: (row) => <span className="number">{row.priority}</span> },
  { id: "wait", header: "Wait", width: "5rem", end: true, cell: (row) => <span className="number">{formatDuration(row.waitSeconds ?? 0)}</span> },
  { id: "start", header: "Expected start", width: "8.5rem", end: true, cell: (row) => <ExpectedStart row={row} /> },
  { id: "reason", header: "Constraint", width: "minmax(0, 2.4fr)", below: true, cell: (row) => <Constraint row={row} /> },
  {
    id: "cohort",
    header: "In cohort",
    width: "4.5rem",
    spare: true,
    end: true,
    cell: (row) => (
      <span className="number" title="Position among all pending workloads in the cohort">
        {row.positionInCohort + 1}
      </span>
    ),
  },
];

const ADMITTED: Column<WorkloadRow>[] = [
  { ...PHASE, cell: (row) => <PhaseBadge phase={row.status as Status} /> },
  { ...NAME, cell: (row) => <ObjectName name={rowKey(row)} /> },
  { ...OWNER, cell: (row) => row.owner || "—" },
  { id: "queue", header: "LocalQueue", width: "minmax(0, 1fr)", spare: true, cell: (row) => row.localQueue || "—" },
  { ...GPU, cell: (row) => <span className="number">{row.gpus}</span> },
  { id: "pods", header: "Pods", width: "3rem", end: true, cell: (row) => <span className="number">{row.pods}</span> },
  { ...PRIORITY, cell: (row) => <span className="number">{row.priority}</span> },
  { id: "wait", header: "Wait", width: "5rem", end: true, cell: (row) => <span className="number">{formatDuration(row.waitSeconds)}</span> },
  { id: "run", header: "Run time", width: "5.5rem", narrow: "5rem", end: true, cell: (row) => <span className="number">{formatDuration(row.runSeconds)}</span> },
];

/** When it may start, as a range; why there is none is told on hover. */
function ExpectedStart({ row }: { row: PendingRow }) {
  const { words, detail } = startWords(row);
  return (
    <span className="number" title={detail}>
      {words}
    </span>
  );
}

/** The reason in a few words, and what there is of what is needed as a bar. */
function Constraint({ row }: { row: PendingRow }) {
  const bar = constraintBar(row);
  return (
    <span className={styles.constraint}>
      <span className={styles.reason} title={row.sentence}>
        {row.reason}
      </span>
      {bar && (
        <span className={styles.meter} role="img" aria-label={bar.words} title={bar.words}>
          <span style={{ width: `${bar.share * 100}%` }} />
        </span>
      )}
    </span>
  );
}

export function PendingTable({ name, strategy }: { name: string; strategy: string }) {
  const pending = useInfiniteQuery(pendingQuery(name));
  const { history } = useRouter();
  return (
    <Card>
      <View query={pending} empty={({ pages }) => (pages[0]?.items.length === 0 ? <NothingPending name={name} /> : undefined)}>
        {({ pages }) => (
          <VirtualTable
            label={`Pending in ${name}, ${strategy}`}
            columns={PENDING}
            rows={pendingRows(pages.flatMap(({ items }) => items), strategy, !pending.hasNextPage)}
            rowKey={keyOf}
            whole={({ note }) => note !== undefined && <span className={styles.behind}>{note}</span>}
            onOpen={(row) => row.note === undefined && history.push(workloadAddress(keyOf(row)))}
            onEnd={() => pending.hasNextPage && !pending.isFetching && void pending.fetchNextPage()}
          />
        )}
      </View>
    </Card>
  );
}

function NothingPending({ name }: { name: string }) {
  const [range] = useTimeRange();
  const last = useQuery(waitTimesQuery(name, range)).data?.lastReservedAt;
  return (
    <Empty title="Nothing is pending">
      <p>{last === undefined ? "\u00a0" : last === null ? "No workload has been admitted yet" : `Last admission ${formatShortTime(last)}`}</p>
    </Empty>
  );
}

export function AdmittedTable({ name }: { name: string }) {
  const admitted = useInfiniteQuery(admittedQuery(name));
  const { history } = useRouter();
  return (
    <Card>
      <View query={admitted} empty={({ pages }) => (pages[0]?.items.length === 0 ? <Empty title="No admitted workloads" /> : undefined)}>
        {({ pages }) => (
          <VirtualTable
            label={`Admitted to ${name}`}
            columns={ADMITTED}
            rows={pages.flatMap(({ items }) => items)}
            rowKey={rowKey}
            onOpen={(row) => history.push(workloadAddress(rowKey(row)))}
            onEnd={() => admitted.hasNextPage && !admitted.isFetching && void admitted.fetchNextPage()}
          />
        )}
      </View>
    </Card>
  );
}
