// All workloads: a grid that is filtered, grouped and ordered by the server, as the address says.
import { useInfiniteQuery, useQueries, useQuery } from "@tanstack/react-query";
import { useCallback, useMemo, useState } from "react";

import { ListFrame, Page } from "@/components/ui/layout";
import { PhaseBadge } from "@/components/ui/phase-badge";
import { Empty, ExamplesLink, Failed, Skeleton, StaleNote } from "@/components/ui/states";
import type { Status, WorkloadGroup, WorkloadRow, WorkloadRowPage } from "@/lib/api/types";
import { inHeldOrder } from "@/lib/held-order";
import { type HeldOrder, useHeldOrder } from "@/lib/hooks/use-held-order";
import { useUrl } from "@/lib/hooks/use-url";

import { firstRowsQuery, groupsQuery, rowsQuery } from "../api/workload-rows";
import { exact, filterChange, tokensIn, withToken, withoutToken } from "../model/filter-text";
import { type Grid, type GroupName, NEWEST_FIRST, gridIn, movedColumn, nextOrder, totalOf } from "../model/grid";
import { type Anchor, type KeptRow, anchorOf, rowKey, splitAtAnchor, withGone } from "../model/list-anchor";
import { type FrozenSet, type Selection, chosenIn } from "../model/selection";
import { GridBar } from "./grid-bar";
import { GridViews } from "./grid-views";
import { ListBar } from "./list-bar";
import { WorkloadPanel } from "./workload-panel";
import { type GridItem, groupKey, itemKey, WorkloadTable } from "./workload-table";
import styles from "./workloads-page.module.css";

export function WorkloadsPage() {
  const url = useUrl();
  const grid = gridIn(url);
  return (
    <Page
      title="Workloads"
      filters={
        <>
          <GridViews grid={grid} />
          <GridBar grid={grid} />
        </>
      }
    >
      {/* Another list has its own beginning and selection. */}
      {grid.group === null ? (
        <Rows key={`${grid.filter} ${grid.order}`} grid={grid} />
      ) : (
        <Groups key={`${grid.filter} ${grid.group}`} grid={grid} by={grid.group} />
      )}
      {url.get("panel") !== "" && (
        <WorkloadPanel key={url.get("panel")} workloadKey={url.get("panel")} onClose={() => url.change({ panel: "" }, "replace")} />
      )}
    </Page>
  );
}

function Rows({ grid }: { grid: Grid }) {
  const list = useInfiniteQuery(rowsQuery(grid.filter, grid.order));
  const rows = useMemo(() => list.data?.pages.flatMap((page) => page.items) ?? [], [list.data]);
  const [anchor, setAnchor] = useState<Anchor | null>(null);
  if (anchor === null && rows.length > 0 && !list.isPlaceholderData) setAnchor(anchorOf(rows));
  const isNewestFirst = grid.order === NEWEST_FIRST;
  const { shown, waiting } = useMemo(() => splitAtAnchor(rows, isNewestFirst ? anchor : null), [rows, anchor, isNewestFirst]);
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = list;
  const onEnd = useCallback(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage]);
  // Rows that were shown stay in sight when they no longer match; those of another filter never were.
  const [kept, setKept] = useState<{ of: WorkloadRow[]; rows: KeptRow[] }>({ of: [], rows: [] });
  if (kept.of !== shown && !list.isPlaceholderData) setKept({ of: shown, rows: withGone(kept.rows, shown, hasNextPage) });
  const items: GridItem[] = list.isPlaceholderData ? shown.map((row) => ({ kind: "row", row })) : kept.rows.map(({ row, isGone }) => ({ kind: "row", row, isGone }));
  const held = useHeldOrder(items.map(itemKey), { asked: grid.order, at: list.dataUpdatedAt, isOn: !isNewestFirst && !list.isPlaceholderData });
  if (list.data === undefined) return <NotYet query={list} />;
  return (
    <>
      {list.isError && <StaleNote error={list.error} onRetry={() => void list.refetch()} />}
      <GridBody
        grid={grid}
        total={matchCount(list.data.pages[0])}
        waiting={waiting}
        onLetIn={() => {
          setAnchor(anchorOf(rows));
          setKept({ of: [], rows: [] });
        }}
        items={inHeldOrder(items, itemKey, held.places)}
        held={held}
        onEnd={onEnd}
      />
    </>
  );
}

/** How many match; where more match than are counted, one more than that at least. */
function matchCount(page: Pick<WorkloadRowPage, "total" | "totalExceeded"> | undefined): number | undefined {
  return page?.total ? page.total.count + (page.totalExceeded ? 1 : 0) : undefined;
}

function Groups({ grid, by }: { grid: Grid; by: GroupName }) {
  const url = useUrl();
  const list = useQuery(groupsQuery(grid.filter, by));
  const groups = list.data?.items ?? [];
  const open = openedGroups(url.get("open"), groups);
  const pages = useQueries({
    queries: open.map((value) => firstRowsQuery(withToken(grid.filter, exact(by, value)), grid.order)),
  });
  const rowsOf = (value: string) => pages[open.indexOf(value)]?.data?.items ?? [];
  const keys = groups.flatMap((group) => [groupKey(group), ...rowsOf(group.value).map(rowKey)]);
  const held = useHeldOrder(keys, { asked: grid.order, at: list.dataUpdatedAt, isOn: !list.isPlaceholderData });
  if (list.data === undefined) return <NotYet query={list} />;
  const items = inHeldOrder(groups, groupKey, held.places).flatMap((group): GridItem[] => {
    const place = open.indexOf(group.value);
    const head: GridItem = { kind: "group", group, words: <GroupWords by={by} value={group.value} />, open: place >= 0 };
    const rows = inHeldOrder(rowsOf(group.value), rowKey, held.places);
    const left = group.count - rows.length;
    const more: GridItem[] = rows.length > 0 && left > 0 ? [{ kind: "more", group, left }] : [];
    return [head, ...rows.map((row): GridItem => ({ kind: "row", row })), ...more];
  });
  const toggle = ({ value }: WorkloadGroup) => {
    const next = open.includes(value) ? open.filter((known) => known !== value) : [...open, value];
    url.change({ open: next.length === 0 ? "-" : JSON.stringify(next) }, "replace");
  };
  return (
    <GridBody
      grid={grid}
      total={totalOf(groups)?.count}
      waiting={0}
      onLetIn={() => undefined}
      items={items}
      held={held}
      onGroup={toggle}
      onEnd={() => undefined}
    />
  );
}

/** The groups that are open: those of the address, or the first one. */
function openedGroups(text: string, groups: WorkloadGroup[]): string[] {
  if (text === "") return groups.slice(0, 1).map(({ value }) => value);
  try {
    const named: unknown = JSON.parse(text);
    const known = groups.map(({ value }) => value);
    return Array.isArray(named) ? known.filter((value) => named.includes(value)) : [];
  } catch {
    return [];
  }
}

function GroupWords({ by, value }: { by: GroupName; value: string }) {
  if (value === "") return <>none</>;
  return by === "phase" ? <PhaseBadge phase={value as Status} /> : <>{value}</>;
}

interface GridBodyProps {
  grid: Grid;
  total: number | undefined;
  waiting: number;
  items: GridItem[];
  held: HeldOrder;
  onLetIn: () => void;
  onGroup?: (group: WorkloadGroup) => void;
  onEnd: () => void;
}

function GridBody({ grid, total, waiting, items, held, onLetIn, onGroup, onEnd }: GridBodyProps) {
  const url = useUrl();
  const [selection, setSelection] = useState<Selection>({});
  const [frozen, setFrozen] = useState<FrozenSet | null>(null);
  const rows = items.flatMap((item) => (item.kind === "row" ? [item.row] : []));
  const chosen = chosenIn(rows, selection, frozen);
  const selectAll = (all: FrozenSet) => {
    setFrozen(all);
    setSelection(Object.fromEntries(all.items.map(({ workload }) => [workload, true])));
  };
  const clear = () => {
    setFrozen(null);
    setSelection({});
  };
  return (
    <ListFrame label="List of workloads" fills {...held.handlers}>
      {items.length === 0 ? (
        <NoWorkloads filter={grid.filter} />
      ) : (
        <WorkloadTable
          items={items}
          columns={grid.columns}
          order={grid.order}
          onOrder={(name) => url.change({ sort: nextOrder(grid.order, name) }, "replace")}
          onMove={(name, place) => url.change({ columns: movedColumn(grid.columns, name, place) }, "replace")}
          opened={url.get("panel")}
          onOpen={(row: WorkloadRow) => url.change({ panel: rowKey(row) }, url.get("panel") === "" ? "push" : "replace")}
          onGroup={onGroup ?? (() => undefined)}
          onMore={(group) => grid.group !== null && url.change({ ...filterChange(withToken(grid.filter, exact(grid.group, group.value))), group: "", open: "" })}
          onFilter={(token) => url.change(filterChange(withToken(grid.filter, token)))}
          selection={selection}
          onSelection={setSelection}
          onEnd={onEnd}
        />
      )}
      <ListBar {...{ grid, waiting, held, chosen, frozen, total, onLetIn }} onAll={selectAll} onClear={clear} />
    </ListFrame>
  );
}

function NotYet({ query }: { query: { isError: boolean; error: unknown; refetch: () => unknown } }) {
  return query.isError ? <Failed error={query.error} onRetry={() => void query.refetch()} /> : <Skeleton rows={20} />;
}

function NoWorkloads({ filter }: { filter: string }) {
  const url = useUrl();
  const tokens = tokensIn(filter);
  if (tokens.length > 0) {
    return (
      <Empty title="No workload matches these filters">
        <p className={styles.row}>
          {tokens.map((token) => (
            <button key={token} type="button" className={styles.only} onClick={() => url.change(filterChange(withoutToken(filter, token)))}>
              Remove {token}
            </button>
          ))}
        </p>
      </Empty>
    );
  }
  return (
    <Empty title="No workloads yet">
      <p>
        Submit the first one with <code>headgate submit -f job.yaml</code>, as in the <ExamplesLink />
      </p>
    </Empty>
  );
}
