// The event log: filtered by the address, with a histogram above and each event in full.
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useCallback, useMemo, useState } from "react";

import { Bars } from "@/components/ui/bars";
import { Button } from "@/components/ui/button";
import { SelectField } from "@/components/ui/fields";
import { Card, Page } from "@/components/ui/layout";
import { NewRowsButton } from "@/components/ui/new-rows-button";
import { Empty, Failed, Skeleton, StaleNote } from "@/components/ui/states";
import { View } from "@/components/ui/view";
import type { EventPage } from "@/lib/api/types";
import { useUrl } from "@/lib/hooks/use-url";

import { eventQuery, eventsFromQuery, histogramQuery, newestEventsQuery } from "../api/events";
import { type EventFilters, eventFiltersIn, rangeOf, timesOf, tokensOf, withoutToken } from "../model/filters";
import { type EventRow, eventRows, groupedRows } from "../model/groups";
import { EventPanel } from "./event-panel";
import { EventTable } from "./event-table";
import { EventsFilter } from "./events-filter";
import styles from "./events-page.module.css";

const SPANS = [
  { value: "60", words: "Last hour" },
  { value: "360", words: "Last 6 hours" },
  { value: "1440", words: "Last day" },
] as const;
const LOOKS = [
  { value: "", words: "Table" },
  { value: "grouped", words: "Grouped" },
] as const;

export function EventsPage() {
  const url = useUrl();
  const filters = eventFiltersIn(url);
  const minutes = Number(url.get("minutes") || "60");
  return (
    <Page title="Event log">
      <Filters filters={filters} minutes={minutes} />
      <Shape filters={filters} minutes={minutes} />
      <EventList key={JSON.stringify(filters)} filters={filters} />
    </Page>
  );
}

function Shape({ filters, minutes }: { filters: EventFilters; minutes: number }) {
  const url = useUrl();
  const histogram = useQuery(histogramQuery(minutes));
  const aside = (
    <div className={styles.span}>
      {filters.since !== "" && (
        <Button look="quiet" onClick={() => url.change({ since: "", until: "" })}>
          Clear time range
        </Button>
      )}
      <SelectField label="Time range" options={SPANS} value={String(minutes)} onChange={(event) => url.change({ minutes: event.target.value, since: "", until: "" })} />
    </div>
  );
  return (
    <Card title="Event volume" aside={aside} padded>
      <View query={histogram} rows={3}>
        {({ buckets, bucketSeconds }) => (
          <Bars
            label="Events over time; draw over the bars to choose a range"
            unit="events"
            bars={buckets}
            range={rangeOf(buckets, filters.since, filters.until)}
            onRange={(first, last) => url.change(timesOf(buckets, first, last, bucketSeconds))}
          />
        )}
      </View>
    </Card>
  );
}

function Filters({ filters, minutes }: { filters: EventFilters; minutes: number }) {
  const url = useUrl();
  return (
    <div className={styles.bar}>
      <EventsFilter filters={filters} minutes={minutes} onChange={(changes) => url.change(changes)} />
      <SelectField label="Show as" options={LOOKS} value={url.get("view")} onChange={(event) => url.change({ view: event.target.value }, "replace")} />
    </div>
  );
}

/** Nothing is left: each token can go by itself. */
function NoMatch({ filters }: { filters: EventFilters }) {
  const url = useUrl();
  return (
    <Empty title="No event matches">
      <p>New events appear automatically.</p>
      {tokensOf(filters).map((token) => (
        <Button key={token} onClick={() => url.change(withoutToken(filters, token))}>
          Remove {token}
        </Button>
      ))}
    </Empty>
  );
}

function EventList({ filters }: { filters: EventFilters }) {
  const newest = useQuery(newestEventsQuery(filters));
  // The list begins where it did until the user asks for what is new: rows stay where they are while the log grows.
  const [first, setFirst] = useState<EventPage>();
  const isAhead = positionOf(first) > positionOf(newest.data);
  if (newest.data !== undefined && newest.data.items.length > 0 && (first === undefined || isAhead)) setFirst(newest.data);
  if (newest.data === undefined) {
    return <Card>{newest.isError ? <Failed error={newest.error} onRetry={() => void newest.refetch()} /> : <Skeleton rows={10} />}</Card>;
  }
  const waiting = first === undefined ? 0 : newest.data.items.filter(({ position }) => position > positionOf(first)).length;
  return (
    <>
      {newest.isError && <StaleNote error={newest.error} onRetry={() => void newest.refetch()} />}
      <Card
        title="Events"
        aside={<NewRowsButton count={waiting} more={waiting === newest.data.items.length && Boolean(newest.data.next)} onShow={() => setFirst(newest.data)} />}
      >
        {first === undefined ? <NoMatch filters={filters} /> : <EventRows key={positionOf(first)} filters={filters} first={first} />}
      </Card>
    </>
  );
}

function positionOf(page: EventPage | undefined): number {
  return page?.items[0]?.position ?? 0;
}

function EventRows({ filters, first }: { filters: EventFilters; first: EventPage }) {
  const url = useUrl();
  const { data, hasNextPage, isFetchingNextPage, fetchNextPage } = useInfiniteQuery(eventsFromQuery(filters, first));
  const rows = useMemo(() => data.pages.flatMap((page) => page.items), [data]);
  const onEnd = useCallback(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage]);
  const isGrouped = url.get("view") === "grouped";
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const shown = useMemo(() => (isGrouped ? groupedRows(rows, open) : eventRows(rows)), [rows, isGrouped, open]);
  const onOpen = useCallback(
    ({ key, group }: EventRow) => {
      if (group === undefined) url.change({ open: key }, "replace");
      else setOpen((known) => (known.has(key) ? new Set([...known].filter((one) => one !== key)) : new Set([...known, key])));
    },
    [url],
  );
  const named = url.get("open");
  const listed = rows.find((fact) => String(fact.position) === named);
  // An address names an event that the list may not have read yet.
  const one = useQuery({ ...eventQuery(Number(named)), enabled: named !== "" && listed === undefined });
  const opened = listed ?? (named === "" ? undefined : one.data);
  return (
    <>
      <EventTable rows={shown} open={open} opened={named} onOpen={onOpen} onEnd={onEnd} />
      {opened && <EventPanel fact={opened} onClose={() => url.change({ open: "" }, "replace")} />}
    </>
  );
}
