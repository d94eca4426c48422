// The pending workloads of a queue in order with their reasons, and the admitted ones.
import { useInfiniteQuery } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";

import { type Column, VirtualTable } from "@/components/ui/virtual-table";
import { Card } from "@/components/ui/layout";
import { Timestamp } from "@/components/ui/timestamp";
import { ObjectName } from "@/components/ui/object-name";
import { PhaseBadge, statusOf } from "@/components/ui/phase-badge";
import { Empty } from "@/components/ui/states";
import { View } from "@/components/ui/view";
import type { PendingWorkload, WorkloadObject } from "@/lib/api/types";
import { workloadAddress } from "@/lib/events";

import { admittedQuery, pendingQuery } from "../api/queues";
import styles from "./queue-page.module.css";

interface Named {
  metadata: { namespace?: string | null; name: string };
}

function keyOf({ metadata }: Named): string {
  return `${metadata.namespace ?? ""}/${metadata.name}`;
}

function nameColumn<Row extends Named>(): Column<Row> {
  return {
    id: "name",
    header: "Workload",
    width: "minmax(9rem, 1.8fr)",
    narrow: "minmax(0, 1fr)",
    cell: (row) => <ObjectName name={keyOf(row)} />,
  };
}

const PENDING: Column<PendingWorkload>[] = [
  {
    id: "position",
    header: "#",
    width: "2.5rem",
    narrow: "2rem",
    end: true,
    cell: (row) => <span className="number">{row.positionInClusterQueue + 1}</span>,
  },
  { id: "phase", header: "Phase", width: "8.5rem", narrow: "7.5rem", cell: (row) => <PhaseBadge phase={statusOf(row.phase, row.dominant)} /> },
  nameColumn(),
  {
    id: "reason",
    header: "Pending reason",
    width: "minmax(0, 3.4fr)",
    below: true,
    cell: (row) => (
      <span className={styles.reason} title={row.sentence}>
        {row.sentence}
      </span>
    ),
  },
  {
    id: "local",
    header: "LocalQueue",
    width: "7rem",
    spare: true,
    cell: (row) => (
      <span className={styles.local} title={`Position ${row.positionInLocalQueue + 1} in LocalQueue`}>
        {row.localQueueName} <span className="number">#{row.positionInLocalQueue + 1}</span>
      </span>
    ),
  },
  {
    id: "cohort",
    header: "In cohort",
    width: "4.5rem",
    spare: true,
    end: true,
    cell: (row) => (
      <span className="number" title="Position among all pending workloads in the cohort">
        #{row.positionInCohort + 1}
      </span>
    ),
  },
  { id: "priority", header: "Priority", width: "4.5rem", spare: true, end: true, cell: (row) => <span className="number">{row.priority}</span> },
  {
    id: "age",
    header: "Submitted",
    width: "6.5rem",
    end: true,
    cell: (row) => <Timestamp at={row.metadata.creationTimestamp} />,
  },
];

const ADMITTED: Column<WorkloadObject>[] = [
  {
    id: "phase",
    header: "Phase",
    width: "8.5rem",
    narrow: "7.5rem",
    cell: (row) => <PhaseBadge phase={row.status?.phase ?? "Running"} />,
  },
  nameColumn(),
  { id: "queue", header: "LocalQueue", width: "minmax(0, 1fr)", cell: (row) => row.spec.queueName ?? "—" },
  {
    id: "priority",
    header: "Priority",
    width: "4.5rem",
    end: true,
    cell: (row) => <span className="number">{row.status?.priority ?? 0}</span>,
  },
  {
    id: "age",
    header: "Submitted",
    width: "6.5rem",
    end: true,
    cell: (row) => <Timestamp at={row.metadata.creationTimestamp} />,
  },
];

export function PendingTable({ name, strategy }: { name: string; strategy: string }) {
  const pending = useInfiniteQuery(pendingQuery(name));
  const { history } = useRouter();
  return (
    <Card title="Pending" aside={strategy}>
      <View query={pending} empty={({ pages }) => (pages[0]?.items.length === 0 ? <Empty title="No pending workloads" /> : undefined)}>
        {({ pages }) => (
          <VirtualTable
            label={`Pending in ${name}`}
            columns={PENDING}
            rows={pages.flatMap(({ items }) => items)}
            rowKey={keyOf}
            onOpen={(row) => history.push(workloadAddress(keyOf(row)))}
            onEnd={() => pending.hasNextPage && !pending.isFetching && void pending.fetchNextPage()}
          />
        )}
      </View>
    </Card>
  );
}

export function AdmittedTable({ name }: { name: string }) {
  const admitted = useInfiniteQuery(admittedQuery(name));
  const { history } = useRouter();
  return (
    <Card title="Admitted">
      <View query={admitted} empty={({ pages }) => (pages[0]?.items.length === 0 ? <Empty title="No admitted workloads" /> : undefined)}>
        {({ pages }) => (
          <VirtualTable
            label={`Admitted to ${name}`}
            columns={ADMITTED}
            rows={pages.flatMap(({ items }) => items)}
            rowKey={keyOf}
            onOpen={(row) => history.push(workloadAddress(keyOf(row)))}
            onEnd={() => admitted.hasNextPage && !admitted.isFetching && void admitted.fetchNextPage()}
          />
        )}
      </View>
    </Card>
  );
}
