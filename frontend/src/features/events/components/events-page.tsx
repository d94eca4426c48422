// The event log: filtered by the address, with a histogram above and each event in full.
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useCallback, useMemo, useRef, useState } from "react";

import { Bars } from "@/components/ui/bars";
import { Button } from "@/components/ui/button";
import { FieldGrid, SelectField, TextField } from "@/components/ui/fields";
import { Card, Page } from "@/components/ui/layout";
import { NewRowsButton } from "@/components/ui/new-rows-button";
import { Empty, Failed, Skeleton, StaleNote } from "@/components/ui/states";
import { View } from "@/components/ui/view";
import type { EventPage } from "@/lib/api/types";
import { useHotkeys } from "@/lib/hooks/use-hotkeys";
import { useUrl } from "@/lib/hooks/use-url";

import { eventQuery, eventsFromQuery, histogramQuery, newestEventsQuery } from "../api/events";
import { type EVENT_FILTERS, type EventFilters, eventFiltersIn, rangeOf, timesOf } from "../model/filters";
import { EventPanel } from "./event-panel";
import { EventTable } from "./event-table";
import styles from "./events-page.module.css";

const SPANS = [
  { value: "60", words: "Last hour" },
  { value: "360", words: "Last 6 hours" },
  { value: "1440", words: "Last day" },
] as const;

export function EventsPage() {
  const url = useUrl();
  const filters = eventFiltersIn(url);
  return (
    <Page title="Event log">
      <Shape filters={filters} />
      <Filters filters={filters} />
      <EventList key={JSON.stringify(filters)} filters={filters} />
    </Page>
  );
}

function Shape({ filters }: { filters: EventFilters }) {
  const url = useUrl();
  const minutes = Number(url.get("minutes") || "60");
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

function Filters({ filters }: { filters: EventFilters }) {
  const url = useUrl();
  const first = useRef<HTMLInputElement>(null);
  useHotkeys({ "/": () => first.current?.focus() });
  const field = (name: (typeof EVENT_FILTERS)[number], label: string, placeholder: string, ref?: React.Ref<HTMLInputElement>) => (
    <TextField
      key={name + filters[name]}
      ref={ref}
      label={label}
      placeholder={placeholder}
      type="search"
      defaultValue={filters[name]}
      spellCheck={false}
      onBlur={(event) => event.target.value.trim() !== filters[name] && url.change({ [name]: event.target.value.trim() })}
      onKeyDown={(event) => (event.key === "Enter" || event.key === "Escape") && event.currentTarget.blur()}
    />
  );
  return (
    <search aria-label="Filter events">
      <FieldGrid>
        {field("type", "Type", "workload.admitted", first)}
        {field("stream", "Stream", "workload/team-a/train")}
        {field("actor", "Actor", "user:ana")}
        {field("correlation", "Correlation ID", "request or scheduling cycle")}
      </FieldGrid>
    </search>
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
        {first === undefined ? <Empty title="No event matches">Change the filters. New events appear automatically.</Empty> : <EventRows key={positionOf(first)} filters={filters} first={first} />}
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
  const open = url.get("open");
  const listed = rows.find((fact) => String(fact.position) === open);
  // An address names an event that the list may not have read yet.
  const one = useQuery({ ...eventQuery(Number(open)), enabled: open !== "" && listed === undefined });
  const opened = listed ?? (open === "" ? undefined : one.data);
  return (
    <>
      <EventTable facts={rows} opened={open} onOpen={(fact) => url.change({ open: String(fact.position) }, "replace")} onEnd={onEnd} />
      {opened && <EventPanel fact={opened} onClose={() => url.change({ open: "" }, "replace")} />}
    </>
  );
}
