// Scheduling cycles: how many, how long, how often planned again; over time, and one by one.
import { useInfiniteQuery } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { CircleX } from "lucide-react";
import { useCallback, useMemo } from "react";

import { Badge } from "@/components/ui/badge";
import { SelectField } from "@/components/ui/fields";
import { Card, Page } from "@/components/ui/layout";
import { type Column, VirtualTable } from "@/components/ui/virtual-table";
import { TimeChart } from "@/components/ui/time-chart";
import { Timestamp } from "@/components/ui/timestamp";
import { Empty, Failed, Skeleton, StaleNote } from "@/components/ui/states";
import type { Cycle } from "@/lib/api/types";
import { useUrl } from "@/lib/hooks/use-url";

import { cyclesQuery } from "../api/cycles";
import { durationsOf, durationWords, figuresOf, outcomeWords } from "../model/cycles";
import styles from "./cycles.module.css";
import { Figure } from "./figure";

const COLUMNS: Column<Cycle>[] = [
  { id: "at", header: "Time", width: "6rem", narrow: "5rem", cell: (cycle) => <Timestamp at={cycle.at} /> },
  { id: "partition", header: "Partition", width: "minmax(0, 1.2fr)", narrow: "minmax(0, 1fr)", cell: (cycle) => cycle.partition },
  { id: "outcome", header: "Result", width: "minmax(0, 1.6fr)", narrow: "minmax(0, 1fr)", cell: (cycle) => <Outcome cycle={cycle} /> },
  { id: "heads", header: "Evaluated", width: "6rem", spare: true, end: true, cell: (cycle) => <span className="number">{cycle.heads}</span> },
  { id: "inadmissible", header: "Inadmissible", width: "7rem", spare: true, end: true, cell: (cycle) => <span className="number">{cycle.inadmissible}</span> },
  { id: "plan", header: "Planning", width: "6rem", end: true, cell: (cycle) => <span className="number">{durationWords(cycle.planningMicroseconds)}</span> },
  { id: "commit", header: "Commit", width: "6rem", spare: true, end: true, cell: (cycle) => <span className="number">{durationWords(cycle.commitMicroseconds)}</span> },
];

function Outcome({ cycle }: { cycle: Cycle }) {
  if (cycle.outcome !== "Conflict") return outcomeWords(cycle);
  return (
    <span className={styles.conflict}>
      <Badge tone="wait" icon={CircleX}>
        Conflict
      </Badge>
      <span>{outcomeWords(cycle)}</span>
    </span>
  );
}

export function CyclesPage() {
  const url = useUrl();
  const partition = url.get("partition");
  const list = useInfiniteQuery(cyclesQuery(partition));
  const cycles = useMemo(() => list.data?.pages.flatMap((page) => page.items) ?? [], [list.data]);
  const partitions = [...new Set([partition, ...cycles.map((cycle) => cycle.partition)])].filter((name) => name !== "").sort();
  const isChoice = partitions.length > 1 || partition !== "";
  return (
    <Page
      title="Scheduling cycles"
      actions={
        isChoice && (
          <SelectField
            label="Partition"
            value={partition}
            options={[{ value: "", words: "all" }, ...partitions.map((value) => ({ value, words: value }))]}
            onChange={(event) => url.change({ partition: event.target.value }, "replace")}
          />
        )
      }
    >
      {list.data !== undefined && list.isError && <StaleNote error={list.error} onRetry={() => void list.refetch()} />}
      {list.data === undefined ? (
        list.isError ? (
          <Failed error={list.error} onRetry={() => void list.refetch()} />
        ) : (
          <Skeleton rows={12} />
        )
      ) : cycles.length === 0 ? (
        <Card>
          <Empty title="No scheduling cycles yet">
            <p>The cycle that admits a submitted workload, or records its pending reason, appears here.</p>
          </Empty>
        </Card>
      ) : (
        <div className={styles.stack}>
          <Figures cycles={cycles} />
          {cycles.length > 1 && <DurationChart cycles={cycles} />}
          <List cycles={cycles} list={list} />
        </div>
      )}
    </Page>
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
    <div className={styles.list}>
      <VirtualTable
        label="Scheduling cycles, newest first"
        columns={COLUMNS}
        rows={cycles}
        rowKey={(cycle) => cycle.id}
        onOpen={(cycle) => history.push(`/cycles/${encodeURIComponent(cycle.id)}`)}
        onEnd={onEnd}
      />
    </div>
  );
}

function DurationChart({ cycles }: { cycles: Cycle[] }) {
  const { times, planning, commit, conflicts } = useMemo(() => durationsOf(cycles), [cycles]);
  return (
    <div className={styles.chart}>
      <TimeChart
        label="Duration of cycles"
        height="short"
        stacked
        times={times}
        range={[times[0] ?? 0, times.at(-1) ?? 0]}
        series={[
          { name: "planning", values: planning, color: "--queue-1" },
          { name: "commit", values: commit, color: "--queue-2", hatched: true },
        ]}
        marks={conflicts.map((cycle) => ({
          at: Date.parse(cycle.at) / 1000,
          words: `Conflict in ${cycle.partition}`,
          address: `/cycles/${encodeURIComponent(cycle.id)}`,
          kind: "outage" as const,
        }))}
        format={(microseconds) => durationWords(microseconds).replace(".0 ", " ")}
      />
    </div>
  );
}

function Figures({ cycles }: { cycles: Cycle[] }) {
  const { count, perMinute, median, p95, slowest, conflicts, heads, decisions } = figuresOf(cycles);
  return (
    <dl className={styles.figures} aria-label="Figures of the cycles shown">
      <Figure words="Cycles a minute" value={perMinute === undefined ? "—" : perMinute.toFixed(perMinute < 10 ? 1 : 0)} detail={`${count.toLocaleString("en")} shown`} />
      <Figure words="Duration p50" value={durationWords(median)} detail="planning and commit" />
      <Figure words="Duration p95" value={durationWords(p95)} detail={`longest ${durationWords(slowest)}`} />
      <Figure words="Evaluated" value={heads.toLocaleString("en")} detail={`${decisions.toLocaleString("en")} decisions`} />
      <Figure words="Conflicts" value={`${conflicts} of ${count.toLocaleString("en")}`} detail="planned again" />
    </dl>
  );
}
