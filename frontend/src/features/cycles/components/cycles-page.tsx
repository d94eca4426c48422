// Scheduling cycles: how many, how long, how often planned again; over time, and one by one.
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { CircleX, OctagonAlert } from "lucide-react";
import { useCallback, useMemo, useState } from "react";

import { Badge } from "@/components/ui/badge";
import { SelectField } from "@/components/ui/fields";
import { Figures as FigureList } from "@/components/ui/figures";
import { Card, ListFrame, Page } from "@/components/ui/layout";
import { type Column, VirtualTable } from "@/components/ui/virtual-table";
import { TimeChart } from "@/components/ui/time-chart";
import { Timestamp } from "@/components/ui/timestamp";
import { Empty, Failed, Skeleton, StaleNote } from "@/components/ui/states";
import { causesQuery } from "@/lib/api/attention";
import type { Cycle, CycleSummary } from "@/lib/api/types";
import { useTimeRange } from "@/lib/hooks/use-time-range";
import { useUrl } from "@/lib/hooks/use-url";
import { type TimeRange, rangeBetween, rangeWords } from "@/lib/time-range";

import { cyclesQuery, cycleSummaryQuery } from "../api/cycles";
import { conflictMarks, courseOf, durationWords, outcomeWords, perMinute, stalledCause } from "../model/cycles";
import styles from "./cycles.module.css";

const COLUMNS: Column<Cycle>[] = [
  { id: "at", header: "Time", width: "6rem", narrow: "5rem", cell: (cycle) => <Timestamp at={cycle.at} /> },
  { id: "partition", header: "Partition", width: "minmax(0, 1.2fr)", cell: (cycle) => cycle.partition },
  { id: "outcome", header: "Result", width: "minmax(0, 1.6fr)", narrow: "minmax(0, 1fr)", cell: (cycle) => <Outcome cycle={cycle} /> },
  { id: "heads", header: "Evaluated", width: "6rem", spare: true, end: true, cell: (cycle) => <span className="number">{cycle.heads}</span> },
  { id: "inadmissible", header: "Inadmissible", width: "7rem", spare: true, end: true, cell: (cycle) => <span className="number">{cycle.inadmissible}</span> },
  { id: "reserved", header: "Quota reserved", width: "7.5rem", spare: true, end: true, cell: (cycle) => <Count of={cycle} value={cycle.reservations} /> },
  { id: "preempted", header: "Preempted", width: "6rem", spare: true, end: true, cell: (cycle) => <Count of={cycle} value={cycle.preemptions} /> },
  { id: "plan", header: "Planning", width: "6rem", narrow: "5rem", end: true, cell: (cycle) => <span className="number">{durationWords(cycle.planningMicroseconds)}</span> },
  { id: "commit", header: "Commit", width: "6rem", spare: true, end: true, cell: (cycle) => <span className="number">{durationWords(cycle.commitMicroseconds)}</span> },
];

/** Of a plan that was refused nothing was recorded. */
function Count({ of, value }: { of: Cycle; value: number }) {
  return <span className="number">{of.outcome === "Conflict" ? "—" : value.toLocaleString("en")}</span>;
}

function Outcome({ cycle }: { cycle: Cycle }) {
  if (cycle.outcome !== "Conflict") return outcomeWords(cycle);
  return (
    <span className={styles.conflict} title={outcomeWords(cycle)}>
      <Badge tone="wait" icon={CircleX}>
        Conflict
      </Badge>
      <span>{outcomeWords(cycle)}</span>
    </span>
  );
}

export function CyclesPage() {
  const url = useUrl();
  const [range, choose] = useTimeRange();
  const partition = url.get("partition");
  const [oldest, setOldest] = useState<string>();
  const summary = useQuery(cycleSummaryQuery(partition, range, oldest)).data;
  if (summary?.dataSince && summary.dataSince !== oldest) setOldest(summary.dataSince);
  const list = useInfiniteQuery(cyclesQuery(partition, range));
  const cycles = useMemo(() => list.data?.pages.flatMap((page) => page.items) ?? [], [list.data]);
  const partitions = [...new Set([partition, ...cycles.map((cycle) => cycle.partition)])].filter((name) => name !== "").sort();
  const isChoice = partitions.length > 1 || partition !== "";
  return (
    <Page
      title="Scheduling cycles"
      filters={
        <>
          {isChoice && (
            <SelectField
              label="Partition"
              value={partition}
              options={[{ value: "", words: "all" }, ...partitions.map((value) => ({ value, words: value }))]}
              onChange={(event) => url.change({ partition: event.target.value }, "replace")}
            />
          )}
          {cycles.length > 0 && <Figures summary={summary} />}
        </>
      }
    >
      <NoWorker newest={cycles[0]} />
      {list.data !== undefined && list.isError && <StaleNote error={list.error} onRetry={() => void list.refetch()} />}
      {list.data === undefined ? (
        list.isError ? (
          <Failed error={list.error} onRetry={() => void list.refetch()} />
        ) : (
          <Skeleton rows={12} />
        )
      ) : cycles.length === 0 ? (
        <Card>
          <Empty title={oldest === undefined ? "No scheduling cycles yet" : `No scheduling cycles: ${rangeWords(range)}`}>
            <p>The cycle that admits a submitted workload, or records its pending reason, appears here.</p>
          </Empty>
        </Card>
      ) : (
        <>
          <Charts summary={summary} onBrush={choose} />
          <List cycles={cycles} list={list} />
        </>
      )}
    </Page>
  );
}

/** Half a minute without a worker though there is work. */
function NoWorker({ newest }: { newest: Cycle | undefined }) {
  const causes = useQuery(causesQuery).data;
  const cause = causes && stalledCause(causes);
  if (cause === undefined) return null;
  return (
    <div className={styles.stalled} role="alert">
      <OctagonAlert aria-hidden="true" />
      <div>
        <strong>{cause.title}</strong>
        <p>
          {cause.items[0]?.detail} {newest ? <>Last cycle <Timestamp at={newest.at} />.</> : "No cycle in this time range."}
        </p>
      </div>
    </div>
  );
}

interface Pages {
  hasNextPage: boolean;
  isFetchingNextPage: boolean;
  fetchNextPage: () => Promise<unknown>;
}

function List({ cycles, list: { hasNextPage, isFetchingNextPage, fetchNextPage } }: { cycles: Cycle[]; list: Pages }) {
  const { history } = useRouter();
  const onEnd = useCallback(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage]);
  return (
    <ListFrame fills>
      <VirtualTable
        label="Scheduling cycles, newest first"
        columns={COLUMNS}
        rows={cycles}
        rowKey={(cycle) => cycle.id}
        onOpen={(cycle) => history.push(`/cycles/${encodeURIComponent(cycle.id)}`)}
        onEnd={onEnd}
      />
    </ListFrame>
  );
}

interface ChartsProps {
  summary: CycleSummary | undefined;
  onBrush: (range: TimeRange) => void;
}

function Charts({ summary, onBrush }: ChartsProps) {
  const course = useMemo(() => courseOf(summary ?? NO_POINTS), [summary]);
  const marks = useMemo(() => conflictMarks(summary ?? NO_POINTS), [summary]);
  if (summary === undefined) return <div className={styles.charts} role="status" aria-label="Loading" />;
  const shared = {
    times: course.times,
    range: [Date.parse(summary.since) / 1000, Date.parse(summary.until) / 1000] as [number, number],
    dataSince: summary.dataSince ? Date.parse(summary.dataSince) / 1000 : undefined,
    height: "slim" as const,
    onBrush: (from: number, to: number) => onBrush(rangeBetween(from * 1000, to * 1000)),
  };
  return (
    <section className={styles.charts} aria-label="Scheduling cycles over time">
      <TimeChart
        {...shared}
        label="Duration of cycles"
        series={[
          { name: "plan p95", values: course.planP95, color: "--accent" },
          { name: "plan p50", values: course.planP50, color: "--accent", hatched: true },
          { name: "commit p95", values: course.commitP95, color: "--ink-soft" },
          { name: "commit p50", values: course.commitP50, color: "--ink-soft", hatched: true },
        ]}
        marks={marks}
        format={(microseconds) => (microseconds === 0 ? "0" : durationWords(microseconds).replace(".0 ", " "))}
      />
      <TimeChart {...shared} label="Workloads evaluated" stacked series={[{ name: "evaluated", values: course.heads, color: "--accent" }]} format={(count) => count.toLocaleString("en")} />
    </section>
  );
}

const NO_POINTS: Pick<CycleSummary, "points" | "stepSeconds"> = { points: [], stepSeconds: 1 };

function Figures({ summary }: { summary: CycleSummary | undefined }) {
  const rate = summary && perMinute(summary);
  const total = summary?.total;
  const counted = (count: number | undefined) => count?.toLocaleString("en") ?? "—";
  const duration = (microseconds: number | undefined) => (microseconds === undefined ? "—" : durationWords(microseconds));
  return (
    <FigureList
      label="Figures of the time range"
      inline
      items={[
        { words: "Cycles/min", value: rate === undefined ? "—" : rate.toFixed(rate < 10 ? 1 : 0), detail: `${counted(total?.cycles)} in all` },
        { words: "p50", value: duration(total?.p50Microseconds), detail: `planning ${duration(total?.planningP50Microseconds)}` },
        { words: "p95", value: duration(total?.p95Microseconds), detail: `planning ${duration(total?.planningP95Microseconds)}` },
        { words: "Max", value: duration(total?.longestMicroseconds), detail: "planning and commit" },
        { words: "Heads", value: counted(total?.heads), detail: `${counted(total?.decisions)} decisions` },
        { words: "Conflicts", value: `${counted(total?.conflicts)} of ${counted(total?.plans)}`, detail: "planned again" },
      ]}
    />
  );
}
