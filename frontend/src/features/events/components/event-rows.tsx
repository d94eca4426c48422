// The rows of the log from where the list began, back to its beginning; groups open to all of their events.
import { useInfiniteQuery, useQueries, useQuery } from "@tanstack/react-query";
import { useCallback, useMemo, useState } from "react";

import { Button } from "@/components/ui/button";
import type { EventPage, Fact } from "@/lib/api/types";
import { useUrl } from "@/lib/hooks/use-url";

import { eventQuery, eventsFromQuery, GROUP_STEPS, sameCauseQuery } from "../api/events";
import type { EventFilters } from "../model/filters";
import { type EventRow, eventRows, groupedRows, type Whole } from "../model/groups";
import { EventPanel } from "./event-panel";
import { EventTable, extraColumns } from "./event-table";
import styles from "./events-page.module.css";

/** The groups that are open, and in how many steps each is read. */
type OpenGroups = ReadonlyMap<string, number>;

/** The open groups, as far as they were read. */
function useWholes(open: OpenGroups): ReadonlyMap<string, Whole | undefined> {
  const steps = (taken: number) => GROUP_STEPS.slice(0, taken);
  return useQueries({
    queries: [...open].flatMap(([correlation, taken]) => steps(taken).map((limit) => sameCauseQuery(correlation, limit))),
    combine: useCallback(
      (reads: { data: EventPage | undefined }[]) => {
        const left = [...reads];
        // What was read stays in sight while more of it is read.
        return new Map([...open].map(([correlation, taken]) => [correlation, wholeOf(left.splice(0, taken).findLast(({ data }) => data !== undefined)?.data)]));
      },
      [open],
    ),
  });
}

function wholeOf(page: EventPage | undefined): Whole | undefined {
  return page && { facts: page.items, isAll: !page.next };
}

/** A head opens and closes its group; what stands for the events that were not read lets more of them be read. */
function toggled(open: OpenGroups, { fact: { correlation = "" }, left }: EventRow): OpenGroups {
  if (left !== undefined) return new Map([...open, [correlation, GROUP_STEPS.length]]);
  return open.has(correlation) ? new Map([...open].filter(([one]) => one !== correlation)) : new Map([...open, [correlation, 1]]);
}

export interface EventRowsProps {
  filters: EventFilters;
  isGrouped: boolean;
  first: EventPage;
}

export function EventRows({ filters, isGrouped, first }: EventRowsProps) {
  const url = useUrl();
  const { data, hasNextPage, isFetchingNextPage, fetchNextPage } = useInfiniteQuery(eventsFromQuery(filters, isGrouped, first));
  const rows = useMemo(() => data.pages.flatMap((page) => page.items), [data]);
  const onEnd = useCallback(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage]);
  const columns = url.get("columns");
  const extra = useMemo(() => extraColumns(columns), [columns]);
  const [open, setOpen] = useState<OpenGroups>(new Map());
  const wholes = useWholes(open);
  const sums = useMemo(() => data.pages.flatMap((page) => page.groups ?? []), [data]);
  const shown = useMemo(() => (isGrouped ? groupedRows(rows, sums, wholes) : eventRows(rows)), [rows, sums, wholes, isGrouped]);
  const onOpen = useCallback(
    (row: EventRow) => {
      const { key, fact, group, left } = row;
      if (group === undefined && left === undefined) url.change({ open: key }, "replace");
      // What is larger than the server gives at a time is a list of its own.
      else if (left !== undefined && open.get(fact.correlation ?? "") === GROUP_STEPS.length) url.change({ correlation: fact.correlation ?? "", view: "" });
      else setOpen((known) => toggled(known, row));
    },
    [url, open],
  );
  const named = url.get("open");
  const listed = shown.find(({ key }) => key === named)?.fact;
  // An address names an event that the list may not have read yet.
  const one = useQuery({ ...eventQuery(Number(named)), enabled: named !== "" && listed === undefined });
  const opened = listed ?? (named === "" ? undefined : one.data);
  return (
    <>
      {filters.text !== "" && <Searched rows={rows} isMore={hasNextPage} isBusy={isFetchingNextPage} onMore={onEnd} />}
      <EventTable rows={shown} open={wholes} opened={named} extra={extra} onOpen={onOpen} onEnd={onEnd} />
      {opened && <EventPanel fact={opened} onClose={() => url.change({ open: "" }, "replace")} />}
    </>
  );
}

interface SearchedProps {
  rows: Fact[];
  isMore: boolean;
  isBusy: boolean;
  onMore: () => void;
}

/** A text is looked for in a part of the log at a time. */
function Searched({ rows, isMore, isBusy, onMore }: SearchedProps) {
  const found = `${rows.length.toLocaleString("en")} ${rows.length === 1 ? "event" : "events"} found`;
  return (
    <p className={styles.searched} role="status">
      {isMore ? `${found} so far` : `${found} in all`}
      {isMore && (
        <Button look="quiet" refusal={isBusy ? "Searching…" : undefined} onClick={onMore}>
          Search earlier events
        </Button>
      )}
    </p>
  );
}
