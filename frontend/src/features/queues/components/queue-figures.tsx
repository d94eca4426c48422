// What a queue uses of the chosen resource, what is pending in it, and how long its workloads wait.
import { useQuery } from "@tanstack/react-query";

import { type FigureItem, Figures } from "@/components/ui/figures";
import { queueRowsQuery } from "@/lib/api/capacity";
import type { QueueRow, QueueSummary } from "@/lib/api/types";
import { formatAmount, shortResource } from "@/lib/format/amounts";
import { formatDuration, secondsBetween } from "@/lib/format/times";
import { useResource } from "@/lib/hooks/use-resource";

export function QueueFigures({ name }: { name: string }) {
  const [resource] = useResource();
  const { data } = useQuery(queueRowsQuery(resource));
  const row = data?.queues.find(({ clusterQueue }) => clusterQueue === name);
  return <Figures label="Figures of the queue" items={itemsOf(data, row)} />;
}

/** Dashes stand where nothing is known yet, so that nothing moves when it comes. */
function itemsOf(summary: QueueSummary | undefined, row: QueueRow | undefined): FigureItem[] {
  const resource = summary?.resource ?? "";
  const unit = shortResource(resource);
  const amount = (value: number | undefined) => (value === undefined ? "—" : formatAmount(resource, value, row?.nominal));
  const wait = (seconds: number | null | undefined) => (typeof seconds === "number" ? formatDuration(seconds) : "—");
  const loans = [...(row && row.borrowed > 0 ? [`${amount(row.borrowed)} borrowed`] : []), ...(row && row.lent > 0 ? [`${amount(row.lent)} lent`] : [])];
  return [
    { words: unit === "" ? "In use" : `In use, ${unit}`, value: `${amount(row?.used)} of ${amount(row?.nominal)}`, detail: loans.join(", ") || "nothing borrowed or lent" },
    { words: unit === "" ? "Pending" : `Pending, ${unit}`, value: row === undefined ? "—" : formatAmount(resource, row.pending), detail: workloads(row?.pendingWorkloads) },
    { words: "Wait p50", value: wait(row?.waitP50Seconds), detail: `of ${row?.waits ?? 0} ${row?.waits === 1 ? "start" : "starts"} in 24 h` },
    { words: "Wait p95", value: wait(row?.waitP95Seconds), detail: "time to admission" },
    { words: "Oldest pending", value: row?.oldestPendingAt && summary ? formatDuration(secondsBetween(row.oldestPendingAt, summary.at)) : "—", detail: "since submission" },
  ];
}

function workloads(count: number | undefined): string {
  return count === undefined ? "—" : `${count.toLocaleString("en")} ${count === 1 ? "workload" : "workloads"}`;
}
