// Five figures that answer whether the installation is in order; each leads to the list that makes it up.
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";

import { RouterLink } from "@/components/ui/router-link";
import { Sparkline } from "@/components/ui/sparkline";
import type { CapacityHistory, Causes, QueueSummary } from "@/lib/api/types";
import { formatAmount, formatShare, gpuHours, shareOf, shortResource } from "@/lib/format/amounts";
import { formatDuration } from "@/lib/format/times";

import { cyclesOfHourQuery, systemQuery, weekOfWaitsQuery } from "../api/capacity";
import { nowOf, overuseOf, usedOverTime } from "../model/capacity";
import { cycleWords, pendingChange, schedulingOf, unschedulableOf, waitChange } from "../model/figures";
import styles from "./overview-page.module.css";

export interface FiguresProps {
  capacity: CapacityHistory | undefined;
  rows: QueueSummary | undefined;
  causes: Causes | undefined;
  resource: string;
  /** The ClusterQueue that the page is filtered by; empty for all. */
  queue: string;
}

export function Figures({ capacity, rows, causes, resource, queue }: FiguresProps) {
  const system = useQuery(systemQuery);
  const cycles = useQuery(cyclesOfHourQuery);
  const week = useQuery(weekOfWaitsQuery);
  const now = capacity && nowOf(capacity);
  const unit = shortResource(resource);
  const never = causes && unschedulableOf(causes);
  const scheduling = system.data && schedulingOf(system.data);
  const told = queue === "" ? rows : rows?.queues.find(({ clusterQueue }) => clusterQueue === queue);
  const { waitP95Seconds: p95, waits } = told ?? {};
  const starts = count(waits ?? 0, "start");
  // The week is that of all queues.
  const change = queue === "" && rows && week.data ? waitChange(rows, week.data) : undefined;
  const of = queue === "" ? "" : `&clusterQueue=${encodeURIComponent(queue)}`;
  return (
    <ul className={styles.figures} aria-label="Figures">
      <Figure title="In use" to={`/workloads?phase=Running${of}`} value={now && `${formatAmount(resource, now.used, now.capacity)} of ${formatAmount(resource, now.capacity)} ${unit}`}>
        {capacity && now && (
          <>
            {overuseWords(capacity, resource) ?? formatShare(shareOf(now.used, now.capacity))} <Sparkline points={usedOverTime(capacity.points)} max={now.capacity} />
          </>
        )}
      </Figure>
      <Figure title="Pending demand" to={`/workloads?phase=Pending${of}`} value={now && `${formatAmount(resource, now.pending)} ${unit}`}>
        {capacity && now && [count(now.pendingWorkloads, "workload"), pendingChange(capacity.points)].filter(Boolean).join(", ")}
      </Figure>
      <Figure title="Wait p95" to={queue === "" ? "/queues" : `/queues/${encodeURIComponent(queue)}?view=waits`} value={told && (p95 === null || p95 === undefined ? "—" : formatDuration(p95))}>
        {told && (change === undefined ? `${starts} in 24 h` : `${starts}, ${change}`)}
      </Figure>
      <Figure title="Unschedulable" to="/workloads?filter=phase:Unschedulable" value={never && count(never.count, "workload")}>
        {never && (never.count === 0 ? "every pending workload can start" : `${gpuHours(never.gpuSeconds)} waiting`)}
      </Figure>
      <Figure title="Scheduling" to="/cycles" value={scheduling?.words} beside={cycles.data && cycleWords(cycles.data)}>
        {scheduling?.detail}
      </Figure>
    </ul>
  );
}

function Figure({ title, to, value, beside, children }: { title: string; to: string; value: string | undefined; beside?: string | undefined; children: ReactNode }) {
  return (
    <li>
      <RouterLink to={to} className={styles.figure}>
        <span className={styles.title}>{title}</span>
        <span className={styles.value}>
          {value ?? "\u00a0"}
          {beside && <span className={styles.beside}> {beside}</span>}
        </span>
        <span className={styles.detail}>{children ?? "\u00a0"}</span>
      </RouterLink>
    </li>
  );
}

/** Work that runs on while hosts or quota shrink. */
function overuseWords(capacity: CapacityHistory, resource: string): string | undefined {
  const over = overuseOf(capacity);
  if (over === undefined) return undefined;
  const amount = `${formatAmount(resource, over.amount)} ${shortResource(resource)}`;
  return over.bound === "hosts" ? `${amount} more than ready hosts offer` : `${amount} over quota`;
}

function count(number: number, noun: string): string {
  return `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
}
