// The columns of the table of queues: the tree, the use of quota for one resource, demand, waits and trend.
import { ChevronDown, ChevronRight } from "lucide-react";
import type { CSSProperties } from "react";

import { RouterLink } from "@/components/ui/router-link";
import { Sparkline } from "@/components/ui/sparkline";
import type { Column } from "@/components/ui/virtual-table";
import type { QueueNode } from "@/lib/api/types";
import { formatAmount, shortResource } from "@/lib/format/amounts";
import { formatDuration } from "@/lib/format/times";

import { wordsOf } from "../model/quota-bar";
import type { QueueTreeRow } from "../model/queue-rows";
import { QueueMenu } from "./queue-menu";
import styles from "./queues-page.module.css";
import { QuotaPieces } from "./quota-lines";
import { StopBadge } from "./stop-badge";

export interface Folding {
  closed: ReadonlySet<string>;
  toggle: (name: string) => void;
}

export function addressOf({ name }: QueueNode): string {
  return `/queues/${encodeURIComponent(name)}`;
}

/** The columns for a resource; names stand as a tree where it can be folded. */
export function columnsOf(resource: string, folding: Folding | undefined): Column<QueueTreeRow>[] {
  const amount = (value: number, beside: number) => formatAmount(resource, value, beside);
  const figure = (words: string) => <span className="number">{words}</span>;
  const wait = (seconds: number | null | undefined) => (typeof seconds === "number" ? formatDuration(seconds) : "—");
  const unit = shortResource(resource);
  return [
    { id: "name", header: "Name", width: "minmax(10.5rem, 1.4fr)", narrow: "minmax(0, 1.1fr)", ordered: true, cell: (row) => <Name row={row} folding={folding} /> },
    { id: "bar", header: "Use of nominal", width: "minmax(6.5rem, 2fr)", narrow: "minmax(0, 1fr)", cell: ({ line }) => (line ? <QuotaPieces line={line} /> : <span className={styles.none}>no quota</span>) },
    { id: "used", header: `Used, ${unit}`, width: "5rem", end: true, ordered: true, cell: ({ line }) => figure(line ? amount(line.used, line.nominal) : "—") },
    { id: "nominal", header: `Nominal, ${unit}`, width: "6rem", end: true, cell: ({ line }) => figure(line ? amount(line.nominal, line.nominal) : "—") },
    { id: "borrowed", header: "Borrowed", width: "minmax(5rem, 8rem)", spare: true, end: true, cell: ({ line }) => figure(line && line.borrowed > 0 ? `${amount(line.borrowed, line.nominal)} ${partyOf(line.borrowedFrom)}` : "—") },
    { id: "lent", header: "Lent", width: "minmax(4rem, 8rem)", spare: true, end: true, cell: ({ line }) => figure(line && line.lent > 0 ? `${amount(line.lent, line.nominal)} ${partyOf(line.lentTo)}` : "—") },
    {
      id: "pending",
      header: `Pending, ${unit}`,
      width: "6rem",
      end: true,
      ordered: true,
      cell: ({ pending, pendingWorkloads }) => <span className="number" title={`${pendingWorkloads} ${pendingWorkloads === 1 ? "workload" : "workloads"}`}>{amount(pending, pending)}</span>,
    },
    { id: "wait", header: "Wait p95", width: "5rem", end: true, ordered: true, cell: ({ waitP95Seconds }) => figure(wait(waitP95Seconds)) },
    { id: "trend", header: "Trend", width: "4.5rem", spare: true, end: true, cell: ({ trend, line }) => <Sparkline points={trend} max={Math.max(line?.nominal ?? 0, ...trend)} /> },
    {
      id: "menu",
      header: "Actions",
      isIcon: true,
      width: "var(--control-height)",
      narrow: "var(--control-height)",
      end: true,
      cell: ({ node, line }) =>
        node.kind === "ClusterQueue" && <QueueMenu queue={{ name: node.name, stopPolicy: node.stopPolicy ?? "None" }} words={line && `${unit}: ${wordsOf(line)}`} />,
    },
    {
      id: "figures",
      header: "Figures",
      width: "",
      below: "alone",
      cell: ({ line, pending, waitP95Seconds }) => (
        <span className="number">
          {line ? `${amount(line.used, line.nominal)} / ${amount(line.nominal, line.nominal)} ${unit}` : "no quota"} · {amount(pending, pending)} pending · p95 {wait(waitP95Seconds)}
        </span>
      ),
    },
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
