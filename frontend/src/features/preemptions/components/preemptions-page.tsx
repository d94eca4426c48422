// The preemption ledger: preemptor, victims, rule and outcome.
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { type ReactNode, useCallback, useMemo, useState } from "react";

import { Button } from "@/components/ui/button";
import { type Column, VirtualTable } from "@/components/ui/virtual-table";
import { ObjectName } from "@/components/ui/object-name";
import { RouterLink } from "@/components/ui/router-link";
import { Card, ListFrame, Page } from "@/components/ui/layout";
import { Timestamp } from "@/components/ui/timestamp";
import { Empty, Failed, Skeleton, StaleNote } from "@/components/ui/states";
import type { Round } from "@/lib/api/types";
import { workloadAddress } from "@/lib/events";
import { PHONE, useMedia } from "@/lib/hooks/use-media";
import { useTimeRange } from "@/lib/hooks/use-time-range";
import { useUrl } from "@/lib/hooks/use-url";
import { type TimeRange, apiBounds, rangeWords } from "@/lib/time-range";

import { roundsQuery, summaryQuery } from "../api/preemptions";
import { type Filters, filtersIn, tokensOf } from "../model/filters";
import { costWords, lossesWords, refusedWords, rulesOf, victimWords } from "../model/ledger";
import { outcomeWords } from "../model/rounds";
import { PreemptionFilters } from "./preemption-filters";
import { Headline, Preemptors, QueuePairs, QueuesAndRules, Repeated } from "./preemption-sums";
import { StorylineView } from "./storyline-view";
import { VictimsSheet } from "./victims-sheet";
import styles from "./preemptions.module.css";

/** More rounds than these are not told apart in one picture. */
const STORY_ROUNDS = 30;

type Line = { kind: "round"; round: Round } | { kind: "victims"; round: Round };

const columnsOf = (onVictims: (round: Round) => void): Column<Line>[] => COLUMNS.map(({ cell, ...column }) => ({ ...column, cell: ({ round }) => cell(round, onVictims) }));

interface RoundColumn extends Omit<Column<Round>, "cell"> {
  cell: (round: Round, onVictims: (round: Round) => void) => ReactNode;
}

const COLUMNS: RoundColumn[] = [
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
  { id: "refused", header: "Refused", width: "4.5rem", spare: true, end: true, cell: (round, onVictims) => <Refused round={round} onOpen={onVictims} /> },
  { id: "result", header: "Result", width: "minmax(0, 1.7fr)", below: true, cell: (round) => <span className={styles.soft} title={outcomeWords(round)}>{outcomeWords(round)}</span> },
];

const VIEWS = [
  { key: "", words: "Rounds" },
  { key: "preemptor", words: "By preemptor" },
  { key: "pair", words: "By queue pair" },
] as const;

export function PreemptionsPage() {
  const url = useUrl();
  const [range] = useTimeRange();
  const bounds = useBounds(range);
  const filters = filtersIn(url.get);
  const list = useInfiniteQuery(roundsQuery({ ...filters, ...bounds }));
  const summary = useQuery(summaryQuery({ ...filters, ...bounds })).data;
  const rounds = useMemo(() => list.data?.pages.flatMap((page) => page.items) ?? [], [list.data]);
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = list;
  const onEnd = useCallback(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage]);
  const by = VIEWS.find(({ key }) => key === url.get("by"))?.key ?? "";
  return (
    <Page
      title="Preemptions"
      filters={
        <>
          <PreemptionFilters filters={filters} rounds={rounds} onChange={(changes) => url.change(changes)} />
          <Views shown={by} />
          {summary !== undefined && <Headline summary={summary} />}
        </>
      }
    >
      {list.data !== undefined && list.isError && <StaleNote error={list.error} onRetry={() => void list.refetch()} />}
      {list.data === undefined ? (
        list.isError ? (
          <Failed error={list.error} onRetry={() => void list.refetch()} />
        ) : (
          <Skeleton rows={8} />
        )
      ) : rounds.length === 0 ? (
        <Card>
          <NoRounds filters={filters} range={range} onRemove={(name) => url.change({ [name]: "" })} />
        </Card>
      ) : (
        <>
          {by === "" && <Ledger rounds={rounds} onEnd={onEnd} />}
          {by === "preemptor" && summary !== undefined && <Preemptors sums={summary.preemptors} onOpen={(workload) => url.change({ workload, by: "" })} />}
          {by !== "preemptor" && summary !== undefined && (
            <div className={styles.sums}>
              <QueuePairs pairs={summary.pairs} filters={filters} onChoose={(chosen) => url.change({ ...chosen, by: "" })} />
              {by === "pair" && <QueuesAndRules summary={summary} />}
              <Repeated repeated={summary.repeated} onOpen={(workload) => url.change({ workload, by: "" })} />
            </div>
          )}
          {by === "" && (
            <Card title="Preemption history" aside={rounds.length > STORY_ROUNDS ? `the newest ${STORY_ROUNDS} rounds` : undefined}>
              <StorylineView rounds={rounds.slice(0, STORY_ROUNDS)} />
            </Card>
          )}
        </>
      )}
    </Page>
  );
}

function Views({ shown }: { shown: string }) {
  const url = useUrl();
  return (
    <div className={styles.views} role="group" aria-label="Show">
      {VIEWS.map(({ key, words }) => (
        <Button key={key} look="quiet" aria-pressed={shown === key} onClick={() => url.change({ by: key }, "replace")}>
          {words}
        </Button>
      ))}
    </div>
  );
}

function Ledger({ rounds, onEnd }: { rounds: Round[]; onEnd: () => void }) {
  const { history } = useRouter();
  const url = useUrl();
  const isPhone = useMedia(PHONE);
  const shown = isPhone ? rounds.find(({ id }) => id === url.get("panel")) : undefined;
  const [opened, setOpened] = useState<readonly string[]>([]);
  const toggle = useCallback((id: string) => setOpened((known) => (known.includes(id) ? known.filter((other) => other !== id) : [...known, id])), []);
  const columns = useMemo(() => columnsOf(({ id }) => toggle(id)), [toggle]);
  const lines = useMemo(
    () => rounds.flatMap((round): Line[] => [{ kind: "round", round }, ...(opened.includes(round.id) ? [{ kind: "victims", round } as const] : [])]),
    [rounds, opened],
  );
  return (
    <ListFrame>
      <VirtualTable
        label="Preemptions, newest first"
        columns={columns}
        rows={lines}
        rowKey={({ kind, round }) => (kind === "round" ? round.id : `${round.id} victims`)}
        whole={({ kind, round }) => kind === "victims" && <Losses round={round} />}
        keys={{ v: ({ round }) => (isPhone ? url.change({ panel: round.id }) : toggle(round.id)) }}
        onOpen={({ round }) => (isPhone ? url.change({ panel: round.id }) : history.push(`/preemptions/${encodeURIComponent(round.id)}`))}
        onEnd={onEnd}
      />
      {shown && <VictimsSheet round={shown} onClose={() => url.change({ panel: "" }, "replace")} />}
    </ListFrame>
  );
}

/** Below a round: what each victim lost, and which candidates were refused. */
function Losses({ round }: { round: Round }) {
  const refused = round.refused ?? [];
  const words = `Victims: ${lossesWords(round)}`;
  return (
    <span className={styles.losses} title={`${words}\n${refusedWords(round)}`}>
      {words}
      {refused.length > 0 && (
        <>
          {" "}
          <strong>refused {refused.length}:</strong> {refused.map(({ workload, rule }) => `${workload} (${rule})`).join(", ")}
        </>
      )}
    </span>
  );
}

function Refused({ round, onOpen }: { round: Round; onOpen: (round: Round) => void }) {
  const count = round.refused?.length ?? 0;
  if (count === 0) return <>—</>;
  return (
    <button type="button" className={styles.count} title={refusedWords(round)} aria-label={`${count} refused: show them`} onClick={() => onOpen(round)}>
      {count}
    </button>
  );
}

function NoRounds({ filters, range, onRemove }: { filters: Filters; range: TimeRange; onRemove: (name: string) => void }) {
  const tokens = tokensOf(filters);
  if (tokens.length === 0) {
    return (
      <Empty title={range.last === "" ? `No preemption from ${rangeWords(range)}` : `No preemption in the ${rangeWords(range).toLowerCase()}`}>
        <p>
          Preemption follows the <code>preemption</code> policies of each ClusterQueue. Every preemption is kept; choose a longer time range to see earlier ones.
        </p>
      </Empty>
    );
  }
  return (
    <Empty title="No matching preemptions">
      <p className={styles.removals}>
        {tokens.map((token) => (
          <Button key={token} onClick={() => onRemove(token.slice(0, token.indexOf(":")))}>
            Remove {token}
          </Button>
        ))}
      </p>
    </Empty>
  );
}

// The instants are fixed when the range is chosen, so that the question stays the same while the page is open.
function useBounds(range: TimeRange): { since: string; until: string } {
  const [opened] = useState(() => Date.now());
  const { since, until = "" } = apiBounds(range, opened);
  return { since, until };
}
