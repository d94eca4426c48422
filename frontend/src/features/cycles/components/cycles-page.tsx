// Scheduling cycles: duration, evaluated workloads, decisions.
import { useInfiniteQuery } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { useCallback, useMemo } from "react";

import { Card, Page } from "@/components/ui/layout";
import { type Column, VirtualTable } from "@/components/ui/virtual-table";
import { Timestamp } from "@/components/ui/timestamp";
import { Empty, Failed, Skeleton, StaleNote } from "@/components/ui/states";
import type { Cycle } from "@/lib/api/types";

import { cyclesQuery } from "../api/cycles";
import { durationWords, figuresOf, outcomeWords } from "../model/cycles";
import styles from "./cycles.module.css";

const COLUMNS: Column<Cycle>[] = [
  { id: "at", header: "Time", width: "6rem", narrow: "5rem", cell: (cycle) => <Timestamp at={cycle.at} /> },
  { id: "partition", header: "Partition", width: "minmax(0, 1.2fr)", narrow: "minmax(0, 1fr)", cell: (cycle) => <span className="mono">{cycle.partition}</span> },
  { id: "outcome", header: "Outcome", width: "minmax(0, 1.4fr)", narrow: "minmax(0, 1fr)", cell: outcomeWords },
  { id: "heads", header: "Heads", width: "5.5rem", end: true, cell: (cycle) => <span className="number">{cycle.heads}</span> },
  { id: "inadmissible", header: "Inadmissible", width: "7rem", spare: true, end: true, cell: (cycle) => <span className="number">{cycle.inadmissible}</span> },
  { id: "plan", header: "Planning", width: "6rem", end: true, cell: (cycle) => <span className="number">{durationWords(cycle.planningMicroseconds)}</span> },
  { id: "commit", header: "Commit", width: "6rem", end: true, cell: (cycle) => <span className="number">{durationWords(cycle.commitMicroseconds)}</span> },
  { id: "input", header: "Input", width: "6rem", spare: true, end: true, cell: (cycle) => <span className="number">#{cycle.inputPosition}</span> },
];

export function CyclesPage() {
  const { history } = useRouter();
  const list = useInfiniteQuery(cyclesQuery());
  const cycles = useMemo(() => list.data?.pages.flatMap((page) => page.items) ?? [], [list.data]);
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = list;
  const onEnd = useCallback(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage]);
  return (
    <Page title="Scheduling cycles" lead="Scheduling cycles with latency, decisions and conflicts. Each can be replayed deterministically.">
      {list.data !== undefined && list.isError && <StaleNote error={list.error} onRetry={() => void list.refetch()} />}
      {cycles.length > 0 && <Figures cycles={cycles} />}
      <Card>
        {list.data === undefined ? (
          list.isError ? (
            <Failed error={list.error} onRetry={() => void list.refetch()} />
          ) : (
            <Skeleton rows={8} />
          )
        ) : cycles.length === 0 ? (
          <Empty title="No scheduling cycles yet">
            <p>The cycle that admits a submitted workload, or records its pending reason, appears here.</p>
          </Empty>
        ) : (
          <VirtualTable
            label="Scheduling cycles, newest first"
            columns={COLUMNS}
            rows={cycles}
            rowKey={(cycle) => cycle.id}
            onOpen={(cycle) => history.push(`/cycles/${encodeURIComponent(cycle.id)}`)}
            onEnd={onEnd}
          />
        )}
      </Card>
    </Page>
  );
}

function Figures({ cycles }: { cycles: Cycle[] }) {
  const figures = figuresOf(cycles);
  return (
    <dl className={styles.figures}>
      <Figure words="Cycles shown" value={String(figures.count)} />
      <Figure words="Decisions" value={String(figures.decisions)} />
      <Figure words="Workloads evaluated" value={String(figures.heads)} />
      <Figure words="Conflicts" value={String(figures.conflicts)} />
      <Figure words="Slowest" value={durationWords(figures.slowest)} />
    </dl>
  );
}

function Figure({ words, value }: { words: string; value: string }) {
  return (
    <div>
      <dt>{words}</dt>
      <dd className="number">{value}</dd>
    </div>
  );
}
