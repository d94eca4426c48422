// The event log: filtered by the address, with a histogram above and each event in full.
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { ArrowUp } from "lucide-react";
import { useCallback, useMemo, useRef, useState } from "react";

import { Bars } from "@/components/ui/bars";
import { Button } from "@/components/ui/button";
import { SelectField, TextField } from "@/components/ui/fields";
import { Card, Page } from "@/components/ui/layout";
import { Empty, Failed, Skeleton, StaleNote } from "@/components/ui/states";
import { View } from "@/components/ui/view";
import { useHotkeys } from "@/lib/hooks/use-hotkeys";
import { useUrl } from "@/lib/hooks/use-url";

import { eventsQuery, histogramQuery } from "../api/events";
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
    <Page title="Event log" lead="Ordered, append-only event log.">
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
    <search className={styles.filters} aria-label="Filter events">
      {field("type", "Type", "workload.admitted", first)}
      {field("stream", "Stream", "workload/team-a/train")}
      {field("actor", "Actor", "user:ana")}
      {field("correlation", "Correlation ID", "request or scheduling cycle")}
    </search>
  );
}

function EventList({ filters }: { filters: EventFilters }) {
  const url = useUrl();
  const list = useInfiniteQuery(eventsQuery(filters));
  const rows = useMemo(() => list.data?.pages.flatMap((page) => page.items) ?? [], [list.data]);
  const [top, setTop] = useState<number | null>(null);
  if (top === null && rows[0] !== undefined) setTop(rows[0].position);
  const shown = useMemo(() => rows.filter((fact) => top === null || fact.position <= top), [rows, top]);
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = list;
  const onEnd = useCallback(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage]);
  if (list.data === undefined) {
    return <Card>{list.isError ? <Failed error={list.error} onRetry={() => void list.refetch()} /> : <Skeleton rows={10} />}</Card>;
  }
  const waiting = rows.length - shown.length;
  const opened = shown.find((fact) => String(fact.position) === url.get("position"));
  return (
    <>
      {list.isError && <StaleNote error={list.error} onRetry={() => void list.refetch()} />}
      <Card
        title="Events"
        aside={
          <span aria-live="polite">
            {waiting > 0 && (
              <Button className={styles.new} onClick={() => setTop(rows[0]?.position ?? null)}>
                <ArrowUp aria-hidden="true" />+{waiting} new
              </Button>
            )}
          </span>
        }
      >
        {shown.length === 0 ? (
          <Empty title="No event matches">Change the filters. New events appear automatically.</Empty>
        ) : (
          <EventTable
            facts={shown}
            opened={url.get("position")}
            onOpen={(fact) => url.change({ position: String(fact.position) }, "replace")}
            onEnd={onEnd}
          />
        )}
      </Card>
      {opened && <EventPanel fact={opened} onClose={() => url.change({ position: "" }, "replace")} />}
    </>
  );
}
