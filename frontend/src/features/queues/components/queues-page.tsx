// The tree of cohorts and queues, one row each, for one resource: use of quota, demand, waits and trend.
import { useQuery } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { ChevronDown, ChevronRight } from "lucide-react";
import { type CSSProperties, useCallback, useMemo, useState } from "react";

import { Button } from "@/components/ui/button";
import { SelectField } from "@/components/ui/fields";
import { Card, Page } from "@/components/ui/layout";
import { RouterLink } from "@/components/ui/router-link";
import { Sparkline } from "@/components/ui/sparkline";
import { Empty, ExamplesLink } from "@/components/ui/states";
import { TypedField } from "@/components/ui/typed-field";
import { View } from "@/components/ui/view";
import { type Column, VirtualTable } from "@/components/ui/virtual-table";
import { capacityQuery, queueRowsQuery } from "@/lib/api/capacity";
import type { QueueNode } from "@/lib/api/types";
import { formatAmount, shortResource } from "@/lib/format/amounts";
import { formatDuration } from "@/lib/format/times";
import { useLogBeginning } from "@/lib/hooks/use-log-beginning";
import { useResource } from "@/lib/hooks/use-resource";
import { useTimeRange } from "@/lib/hooks/use-time-range";
import { useUrl } from "@/lib/hooks/use-url";

import { queueTreeQuery } from "../api/queues";
import { flavorsOf, orderedRows, type QueueTreeRow, resourcesOf, treeRows } from "../model/queue-rows";
import { QueueMenu } from "./queue-menu";
import styles from "./queues-page.module.css";
import { QuotaLegend, QuotaPieces } from "./quota-lines";
import { StopBadge } from "./stop-badge";

export function QueuesPage() {
  const tree = useQuery(queueTreeQuery);
  return (
    <Page title="Queues" actions={<RouterLink to="/configuration?kind=ClusterQueue&new=1">New queue</RouterLink>}>
      <View query={tree} rows={10} empty={({ roots }) => (roots.length === 0 ? <NoQueues /> : undefined)}>
        {({ roots }) => <Tree roots={roots} />}
      </View>
    </Page>
  );
}

function NoQueues() {
  return (
    <Card>
      <Empty title="No queues yet">
        <p>
          Apply a ResourceFlavor, a ClusterQueue and a LocalQueue with <code>headgate apply -f queues.yaml</code>, as in the <ExamplesLink />.
        </p>
      </Empty>
    </Card>
  );
}

function Tree({ roots }: { roots: QueueNode[] }) {
  const url = useUrl();
  const [chosen, choose] = useResource();
  const resources = resourcesOf(roots);
  const resource = resources.includes(chosen) ? chosen : (resources[0] ?? "");
  const flavors = flavorsOf(roots, resource);
  const flavor = flavors.includes(url.get("flavor")) ? url.get("flavor") : "";
  return (
    <>
      <div className={styles.bar}>
        <SelectField label="Resource" value={resource} options={resources.map((value) => ({ value, words: shortResource(value) }))} onChange={(event) => choose(event.target.value)} />
        <SelectField
          label="Flavor"
          value={flavor}
          options={[{ value: "", words: "all" }, ...flavors.map((value) => ({ value, words: value }))]}
          onChange={(event) => url.change({ flavor: event.target.value }, "replace")}
        />
        <TypedField label="Name contains" value={url.get("filter")} onSettled={(filter) => url.change({ filter }, "replace")} />
        <QuotaLegend />
      </div>
      <Rows roots={roots} resource={resource} flavor={flavor} text={url.get("filter")} order={url.get("sort")} cohort={url.get("cohort")} onChange={(changes) => url.change(changes, "replace")} />
    </>
  );
}

interface RowsProps {
  roots: QueueNode[];
  resource: string;
  flavor: string;
  text: string;
  /** Empty for the tree. */
  order: string;
  /** The cohort that the address names. */
  cohort: string;
  onChange: (changes: Record<string, string>) => void;
}

function Rows({ roots, resource, flavor, text, order, cohort, onChange }: RowsProps) {
  const { history } = useRouter();
  const [range] = useTimeRange();
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const summary = useQuery(queueRowsQuery(resource)).data;
  const [since, tellOfLog] = useLogBeginning(range);
  const capacity = useQuery(capacityQuery(resource, range, since)).data;
  tellOfLog(capacity);
  const points = capacity?.points;
  const rows = useMemo(() => {
    const queues = new Map((summary?.resource === resource ? summary.queues : []).map((row) => [row.clusterQueue, row]));
    const all = treeRows(roots, { resource, flavor, queues, points: points ?? [] }, order === "" ? closed : new Set(), text);
    return order === "" ? all : orderedRows(all, order);
  }, [roots, resource, flavor, summary, points, closed, text, order]);
  const toggle = useCallback((name: string) => setClosed((known) => (known.has(name) ? new Set([...known].filter((one) => one !== name)) : new Set([...known, name]))), []);
  const columns = useMemo(() => columnsOf(resource, order === "" ? { closed, toggle } : undefined), [resource, order, closed, toggle]);
  return (
    <Card>
      {rows.length === 0 ? (
        <Empty title={`No queue has "${text}" in its name`}>
          <Button onClick={() => onChange({ filter: "" })}>Clear the filter</Button>
        </Empty>
      ) : (
        <VirtualTable
          label={`Queues, ${shortResource(resource)}`}
          columns={columns}
          rows={rows}
          rowKey={({ node }) => `${node.kind}/${node.name}`}
          order={order}
          onOrder={(id) => onChange({ sort: nextOrder(order, id) })}
          opened={cohort === "" ? undefined : `Cohort/${cohort}`}
          onOpen={({ node }) => (node.kind === "ClusterQueue" ? history.push(addressOf(node)) : toggle(node.name))}
        />
      )}
    </Card>
  );
}

/** A column's own order first, then the reverse, then the tree again. */
function nextOrder(order: string, id: string): string {
  const first = id === "name" ? id : `-${id}`;
  if (order === first) return first === id ? `-${id}` : id;
  return order === id || order === `-${id}` ? "" : first;
}

function addressOf({ name }: QueueNode): string {
  return `/queues/${encodeURIComponent(name)}`;
}

interface Folding {
  closed: ReadonlySet<string>;
  toggle: (name: string) => void;
}

/** The columns for a resource; names stand as a tree where it can be folded. */
function columnsOf(resource: string, folding: Folding | undefined): Column<QueueTreeRow>[] {
  const amount = (value: number, beside: number) => formatAmount(resource, value, beside);
  const figure = (words: string) => <span className="number">{words}</span>;
  return [
    { id: "name", header: "Name", width: "minmax(12rem, 1.4fr)", narrow: "minmax(0, 1fr)", ordered: true, cell: (row) => <Name row={row} folding={folding} /> },
    { id: "bar", header: "Use of nominal quota", width: "minmax(8rem, 2fr)", below: true, cell: ({ line }) => (line ? <QuotaPieces line={line} /> : <span className={styles.none}>no quota</span>) },
    { id: "used", header: `Used, ${shortResource(resource)}`, width: "6.5rem", narrow: "6rem", end: true, ordered: true, cell: ({ line }) => figure(line ? `${amount(line.used, line.nominal)} of ${amount(line.nominal, line.nominal)}` : "—") },
    { id: "borrowed", header: "Borrowed", width: "minmax(5rem, 8rem)", spare: true, end: true, cell: ({ line }) => figure(line && line.borrowed > 0 ? `${amount(line.borrowed, line.nominal)} ${partyOf(line.borrowedFrom)}` : "—") },
    { id: "lent", header: "Lent", width: "minmax(4rem, 8rem)", spare: true, end: true, cell: ({ line }) => figure(line && line.lent > 0 ? `${amount(line.lent, line.nominal)} ${partyOf(line.lentTo)}` : "—") },
    {
      id: "pending",
      header: "Pending",
      width: "5rem",
      narrow: "4rem",
      end: true,
      ordered: true,
      cell: ({ pending, pendingWorkloads }) => <span className="number" title={`${pendingWorkloads} ${pendingWorkloads === 1 ? "workload" : "workloads"}`}>{amount(pending, pending)}</span>,
    },
    { id: "wait", header: "Wait p95", width: "5rem", end: true, ordered: true, cell: ({ waitP95Seconds }) => figure(typeof waitP95Seconds === "number" ? formatDuration(waitP95Seconds) : "—") },
    { id: "trend", header: "Trend", width: "4.5rem", spare: true, end: true, cell: ({ trend, line }) => <Sparkline points={trend} max={Math.max(line?.nominal ?? 0, ...trend)} /> },
    { id: "menu", header: "Actions", isIcon: true, width: "2rem", end: true, cell: ({ node }) => node.kind === "ClusterQueue" && <QueueMenu queue={{ name: node.name, stopPolicy: node.stopPolicy ?? "None" }} /> },
  ];
}

/** The other side of a loan where it is one alone. */
function partyOf(parties: { clusterQueue: string }[] | undefined): string {
  const names = [...new Set((parties ?? []).map(({ clusterQueue }) => clusterQueue))];
  return names.length === 1 ? (names[0] ?? "") : "";
}

function Name({ row: { node, depth }, folding }: { row: QueueTreeRow; folding: Folding | undefined }) {
  const indent = { "--depth": depth } as CSSProperties;
  if (node.kind === "ClusterQueue") {
    return (
      <span className={styles.name} style={indent} data-leaf={folding ? "" : undefined}>
        <RouterLink className={styles.queue} to={addressOf(node)}>
          {node.name}
        </RouterLink>
        <StopBadge node={node} />
      </span>
    );
  }
  const open = folding === undefined || !folding.closed.has(node.name);
  return (
    <span className={styles.name} style={indent}>
      <button type="button" className={styles.fold} aria-expanded={open} aria-label={`${open ? "Collapse" : "Expand"} cohort ${node.name}`} onClick={() => folding?.toggle(node.name)}>
        {open ? <ChevronDown aria-hidden="true" /> : <ChevronRight aria-hidden="true" />}
      </button>
      <span className={styles.cohort}>{node.name}</span>
      <span className={styles.kind}>cohort</span>
    </span>
  );
}
