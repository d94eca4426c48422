// The preemption ledger: preemptor, victims, rule and outcome.
import { useInfiniteQuery } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { useCallback, useMemo, useState } from "react";

import { type Column, VirtualTable } from "@/components/ui/virtual-table";
import { type Head, PlainTable } from "@/components/ui/plain-table";
import { ObjectName } from "@/components/ui/object-name";
import { RouterLink } from "@/components/ui/router-link";
import { Card, Page } from "@/components/ui/layout";
import { Timestamp } from "@/components/ui/timestamp";
import { Empty, Failed, Skeleton, StaleNote } from "@/components/ui/states";
import type { Round } from "@/lib/api/types";
import { workloadAddress } from "@/lib/events";
import { gpuHours } from "@/lib/format/amounts";
import { useTimeRange } from "@/lib/hooks/use-time-range";
import { useUrl } from "@/lib/hooks/use-url";
import { type TimeRange, apiBounds, rangeWords } from "@/lib/time-range";

import { roundsQuery } from "../api/preemptions";
import { costWords, gpuSecondsLost, queuePairs, refusedWords, repeatedPairs, rulesOf, victimWords } from "../model/ledger";
import { outcomeWords } from "../model/rounds";
import { PreemptionFilters } from "./preemption-filters";
import { StorylineView } from "./storyline-view";
import styles from "./preemptions.module.css";

/** More rounds than these are not told apart in one picture. */
const STORY_ROUNDS = 30;

const COLUMNS: Column<Round>[] = [
  { id: "at", header: "Time", width: "6rem", cell: (round) => <Timestamp at={round.committedAt} /> },
  {
    id: "preemptor",
    header: "Preemptor",
    width: "minmax(0, 1.5fr)",
    narrow: "minmax(0, 1fr)",
    cell: (round) => (
      <span className={styles.name} title={`${round.preemptor}, ${round.clusterQueue}, priority ${round.preemptorPriority}`}>
        <RouterLink to={workloadAddress(round.preemptor)} aria-label={round.preemptor}>
          <ObjectName name={round.preemptor} />
        </RouterLink>{" "}
        <span className={styles.soft}>{round.preemptorPriority}</span>
      </span>
    ),
  },
  { id: "rule", header: "Rule", width: "10rem", spare: true, cell: (round) => <span title={rulesOf(round)}>{rulesOf(round)}</span> },
  { id: "victims", header: "Victims", width: "minmax(0, 1.4fr)", cell: (round) => <span title={round.victims.map(({ workload }) => workload).join("\n")}>{round.victims.length === 1 ? <ObjectName name={victimWords(round)} /> : victimWords(round)}</span> },
  { id: "cost", header: "Cost", width: "7rem", narrow: "6.5rem", end: true, cell: (round) => <span className="number">{costWords(round)}</span> },
  { id: "refused", header: "Refused", width: "4.5rem", spare: true, end: true, cell: (round) => <span title={refusedWords(round)}>{round.refused?.length || "—"}</span> },
  { id: "result", header: "Result", width: "minmax(0, 1.7fr)", below: true, cell: (round) => <span className={styles.soft} title={outcomeWords(round)}>{outcomeWords(round)}</span> },
];

export function PreemptionsPage() {
  const url = useUrl();
  const { history } = useRouter();
  const [range] = useTimeRange();
  const bounds = useBounds(range);
  const narrowedTo = { workload: url.get("workload"), clusterQueue: url.get("clusterQueue"), cohort: url.get("cohort"), ...bounds };
  const list = useInfiniteQuery(roundsQuery(narrowedTo));
  const rounds = useMemo(() => list.data?.pages.flatMap((page) => page.items) ?? [], [list.data]);
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = list;
  const onEnd = useCallback(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage]);
  const narrowed = [narrowedTo.workload, narrowedTo.clusterQueue, narrowedTo.cohort].some((value) => value !== "");
  return (
    <Page
      title="Preemptions"
      lead={rounds.length > 0 ? <Totals rounds={rounds} more={hasNextPage} /> : undefined}
    >
      <PreemptionFilters url={url} />
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
            <Empty title={`No preemption: ${rangeWords(range).toLowerCase()}`}>
              <p>
                Preemption follows the <code>preemption</code> policies of each ClusterQueue. Every preemption is kept; choose a longer time range to see earlier ones.
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
      {rounds.length > 0 && <QueuePairs rounds={rounds} />}
      {rounds.length > 0 && (
        <Card title="Preemption history" aside={rounds.length > STORY_ROUNDS ? `the newest ${STORY_ROUNDS} rounds` : undefined}>
          <StorylineView rounds={rounds.slice(0, STORY_ROUNDS)} />
        </Card>
      )}
    </Page>
  );
}

function Totals({ rounds, more }: { rounds: Round[]; more: boolean }) {
  const repeats = repeatedPairs(rounds);
  const count = `${rounds.length}${more ? "+" : ""} ${rounds.length === 1 ? "round" : "rounds"}`;
  return (
    <>
      {count}, {gpuHours(gpuSecondsLost(rounds))} lost
      {repeats.length > 0 && (
        <span className={styles.warning}>
          {" "}
          · Repeated: {repeats[0]?.names.join(" and ")}, {repeats[0]?.rounds} times
        </span>
      )}
    </>
  );
}

function QueuePairs({ rounds }: { rounds: Round[] }) {
  const figures: Head[] = [{ words: "Rounds", figure: true }, { words: "Victims", figure: true, spare: true }, { words: "Cost", figure: true }];
  return (
    <Card title="By queue pair">
      <PlainTable label="Preemptions by queue pair" heads={["Preemptor queue", "Victim queue", ...figures]}>
        {queuePairs(rounds).map((pair) => (
          <tr key={`${pair.preemptor} ${pair.victim}`}>
            <th scope="row">{pair.preemptor}</th>
            <td>{pair.victim}</td>
            <td data-figure>{pair.rounds}</td>
            <td data-figure data-spare>
              {pair.victims}
            </td>
            <td data-figure>{gpuHours(pair.gpuSeconds)}</td>
          </tr>
        ))}
      </PlainTable>
    </Card>
  );
}

// The instants are fixed when the range is chosen, so that the question stays the same while the page is open.
function useBounds(range: TimeRange): { since: string; until: string } {
  const [opened] = useState(() => Date.now());
  const { since, until = "" } = apiBounds(range, opened);
  return { since, until };
}
