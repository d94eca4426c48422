// The preemption ledger: preemptor, victims, rule and outcome.
import { useInfiniteQuery } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { useCallback, useMemo, useState } from "react";

import { type Column, VirtualTable } from "@/components/ui/virtual-table";
import { RouterLink } from "@/components/ui/router-link";
import { Card, Page } from "@/components/ui/layout";
import { Timestamp } from "@/components/ui/timestamp";
import { Empty, Failed, Skeleton, StaleNote } from "@/components/ui/states";
import type { Round } from "@/lib/api/types";
import { workloadAddress } from "@/lib/events";
import { useUrl } from "@/lib/hooks/use-url";

import { roundsQuery } from "../api/preemptions";
import { freedWords, outcomeWords } from "../model/rounds";
import { PreemptionFilters } from "./preemption-filters";
import { StageBadge } from "./stage-badge";
import { StorylineView } from "./storyline-view";
import styles from "./preemptions.module.css";

const COLUMNS: Column<Round>[] = [
  { id: "stage", header: "Stage", width: "7.5rem", narrow: "7rem", cell: (round) => <StageBadge stage={round.stage} /> },
  {
    id: "preemptor",
    header: "Preemptor",
    width: "minmax(0, 1.2fr)",
    narrow: "minmax(0, 1fr)",
    cell: (round) => <RouterLink to={workloadAddress(round.preemptor)}>{round.preemptor}</RouterLink>,
  },
  {
    id: "victims",
    header: "Victims",
    width: "minmax(0, 1.4fr)",
    cell: (round) => (
      <span title={round.victims.map((victim) => victim.workload).join("\n")}>
        {round.victims.length === 1 ? round.victims[0]?.workload : `${round.victims[0]?.workload ?? ""} and ${round.victims.length - 1} more`}
      </span>
    ),
  },
  { id: "freed", header: "Resources freed", width: "minmax(0, 1fr)", cell: (round) => <span className="number">{freedWords(round.victims)}</span> },
  { id: "outcome", header: "Outcome", width: "minmax(0, 1.6fr)", cell: (round) => <span className={styles.soft}>{outcomeWords(round)}</span> },
  { id: "at", header: "Time", width: "6rem", end: true, cell: (round) => <Timestamp at={round.committedAt} /> },
];

export function PreemptionsPage() {
  const url = useUrl();
  const { history } = useRouter();
  const since = useSince(url.get("hours"));
  const narrowedTo = { workload: url.get("workload"), clusterQueue: url.get("clusterQueue"), cohort: url.get("cohort"), since };
  const list = useInfiniteQuery(roundsQuery(narrowedTo));
  const rounds = useMemo(() => list.data?.pages.flatMap((page) => page.items) ?? [], [list.data]);
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = list;
  const onEnd = useCallback(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage]);
  const narrowed = Object.values(narrowedTo).some((value) => value !== "");
  return (
    <Page
      title="Preemptions"
      lead="Preemption decisions: preemptor, victims, rule and outcome."
    >
      <PreemptionFilters url={url} />
      {rounds.length > 0 && (
        <Card title="Preemption history" aside="play, or drag the slider">
          <StorylineView rounds={rounds} />
        </Card>
      )}
      {list.data !== undefined && list.isError && <StaleNote error={list.error} onRetry={() => void list.refetch()} />}
      <Card>
        {list.data === undefined ? (
          list.isError ? (
            <Failed error={list.error} onRetry={() => void list.refetch()} />
          ) : (
            <Skeleton rows={8} />
          )
        ) : rounds.length === 0 ? (
          narrowed ? (
            <Empty title="No matching preemptions">
              <p>Clear the filters or widen the time range.</p>
            </Empty>
          ) : (
            <Empty title="No preemptions yet">
              <p>
                Preemption follows the <code>preemption</code> policies of each ClusterQueue. Every preemption is kept here.
              </p>
            </Empty>
          )
        ) : (
          <VirtualTable
            label="Preemptions, newest first"
            columns={COLUMNS}
            rows={rounds}
            rowKey={(round) => round.id}
            onOpen={(round) => history.push(`/preemptions/${encodeURIComponent(round.id)}`)}
            onEnd={onEnd}
          />
        )}
      </Card>
    </Page>
  );
}

// The instant is fixed when the choice is made, so that the question stays the same while the page is open.
function useSince(hours: string): string {
  const [opened] = useState(() => Date.now());
  const count = Number(hours);
  return hours === "" || Number.isNaN(count) ? "" : new Date(opened - count * 3_600_000).toISOString();
}
