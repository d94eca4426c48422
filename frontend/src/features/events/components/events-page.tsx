// The event log: filtered by the address, with a histogram above and each event in full.
import { useQueries, useQuery } from "@tanstack/react-query";
import { Columns3 } from "lucide-react";
import { useState } from "react";

import { Button } from "@/components/ui/button";
import { ListFrame, Page } from "@/components/ui/layout";
import { Menu } from "@/components/ui/menu";
import { NewRowsButton } from "@/components/ui/new-rows-button";
import { Empty, Failed, Skeleton, StaleNote } from "@/components/ui/states";
import { TimeChart } from "@/components/ui/time-chart";
import type { EventPage } from "@/lib/api/types";
import { useHotkeys } from "@/lib/hooks/use-hotkeys";
import { useLogBeginning } from "@/lib/hooks/use-log-beginning";
import { useNow } from "@/lib/hooks/use-now";
import { useTimeRange } from "@/lib/hooks/use-time-range";
import { useUrl } from "@/lib/hooks/use-url";
import { rangeBetween, rangeIn } from "@/lib/time-range";

import { histogramQuery, newestEventsQuery, withoutQuery } from "../api/events";
import { byFamily, type EventFilters, eventFiltersIn, FAMILIES, type Family, mostExcluding, periodOf, tokensOf, type Without, withoutToken } from "../model/filters";
import { EventRows } from "./event-rows";
import { EXTRA_COLUMNS, extraColumns } from "./event-table";
import { EventsFilter } from "./events-filter";
import styles from "./events-page.module.css";

const LOOKS = [
  { value: "", words: "Table" },
  { value: "grouped", words: "Grouped" },
] as const;
const COLORS: Record<Family, string> = { admission: "--run-solid", preemption: "--wait-solid", failure: "--bad-solid", configuration: "--hold-solid", other: "--idle-solid" };

export function EventsPage() {
  const url = useUrl();
  const [range] = useTimeRange();
  const filters = eventFiltersIn(url, range);
  const isGrouped = url.get("view") === "grouped";
  return (
    <Page title="Event log" filters={<Filters filters={filters} isGrouped={isGrouped} />} actions={<Looks />}>
      <Shape />
      <EventList key={JSON.stringify([filters, isGrouped])} filters={filters} isGrouped={isGrouped} />
    </Page>
  );
}

function Shape() {
  const [range, choose] = useTimeRange();
  const now = useNow();
  const [since, tellOfLog] = useLogBeginning(range);
  const period = periodOf(range, now, since);
  const { data } = useQuery(histogramQuery(period));
  const buckets = data?.buckets ?? [];
  tellOfLog({ dataSince: buckets.find(({ count }) => count > 0)?.at ?? null, at: buckets.at(-1)?.at ?? "" });
  const counts = byFamily(buckets);
  // The axis moves with the data and not with the clock.
  const last = Date.parse(buckets.at(-1)?.at ?? "") + (data?.bucketSeconds ?? 0) * 1000;
  const to = Number.isNaN(last) ? now : last;
  return (
    <div className={styles.shape}>
      <TimeChart
        label={data?.sampled ? "Events, types estimated from samples" : "Events"}
        height="slim"
        stacked
        times={buckets.map(({ at }) => Date.parse(at) / 1000)}
        range={[to / 1000 - period.minutes * 60, to / 1000]}
        series={FAMILIES.map((name) => ({ name, values: counts[name], color: COLORS[name], hatched: name === "other" }))}
        format={(value) => value.toLocaleString("en")}
        onBrush={(one, other) => choose(rangeBetween(one * 1000, other * 1000))}
      />
    </div>
  );
}

interface ListProps {
  filters: EventFilters;
  isGrouped: boolean;
}

function Filters({ filters, isGrouped }: ListProps) {
  const url = useUrl();
  const [range, choose] = useTimeRange();
  return (
    <>
      <EventsFilter filters={filters} isGrouped={isGrouped} onChange={(changes) => url.change(changes)} />
      {range.last === "" && (
        <Button look="quiet" onClick={() => choose(rangeIn(""))}>
          Clear time range
        </Button>
      )}
    </>
  );
}

/** How the rows are shown. */
function Looks() {
  const url = useUrl();
  return (
    <>
      <div className={styles.looks} role="group" aria-label="Show as">
        {LOOKS.map(({ value, words }) => (
          <Button key={words} aria-pressed={url.get("view") === value} onClick={() => url.change({ view: value }, "replace")}>
            {words}
          </Button>
        ))}
      </div>
      <Columns />
    </>
  );
}

/** The columns that are off until they are chosen. */
function Columns() {
  const url = useUrl();
  const shown = extraColumns(url.get("columns"));
  const toggled = (id: string) => (shown.includes(id) ? shown.filter((one) => one !== id) : [...shown, id]).join(",");
  return (
    <Menu
      heading="Show columns"
      stays
      trigger={
        <Button shape="icon" className={styles.columns} hint="Columns" aria-label="Columns">
          <Columns3 aria-hidden="true" />
        </Button>
      }
      items={EXTRA_COLUMNS.map(({ id, words }) => ({ key: id, words, checked: shown.includes(id), onSelect: () => url.change({ columns: toggled(id) }, "replace") }))}
    />
  );
}

/** Nothing is left: the filter without which most events match is named, and each can go by itself. */
function NoMatch({ filters }: { filters: EventFilters }) {
  const url = useUrl();
  const [, choose] = useTimeRange();
  const tokens = tokensOf(filters);
  const all = filters.since === "" ? tokens : [...tokens, ""];
  const counts = useQueries({ queries: all.map((token) => withoutQuery(filters, token)) });
  const most = mostExcluding(counts.flatMap(({ data }) => (data === undefined ? [] : [data])));
  const drop = (token: string) => (token === "" ? choose(rangeIn("")) : url.change(withoutToken(filters, token)));
  return (
    <Empty title="No event matches">
      <p>{most === undefined ? "New events appear automatically." : `${most.token || "The time range"} excludes most: ${countWords(most)} without it.`}</p>
      {all.map((token) => (
        <Button key={token} look={token === most?.token ? "primary" : "plain"} onClick={() => drop(token)}>
          Remove {token || "the time range"}
        </Button>
      ))}
    </Empty>
  );
}

function countWords({ count, more }: Without): string {
  return `${count.toLocaleString("en")}${more ? " or more" : ""} ${count === 1 && !more ? "event matches" : "events match"}`;
}

function EventList({ filters, isGrouped }: ListProps) {
  const newest = useQuery(newestEventsQuery(filters, isGrouped));
  // The list begins where it did until the user asks for what is new: rows stay where they are while the log grows.
  const [first, setFirst] = useState<EventPage>();
  useHotkeys({ "g g": () => newest.data && setFirst(newest.data) });
  const isAhead = positionOf(first) > positionOf(newest.data);
  if (newest.data !== undefined && (newest.data.items.length > 0 || newest.data.next) && (first === undefined || isAhead)) setFirst(newest.data);
  if (newest.data === undefined) {
    return <ListFrame>{newest.isError ? <Failed error={newest.error} onRetry={() => void newest.refetch()} /> : <Skeleton rows={10} />}</ListFrame>;
  }
  const waiting = first === undefined ? 0 : newest.data.items.filter(({ position }) => position > positionOf(first)).length;
  return (
    <>
      {newest.isError && <StaleNote error={newest.error} onRetry={() => void newest.refetch()} />}
      <ListFrame fills>
        {first === undefined ? <NoMatch filters={filters} /> : <EventRows key={`${positionOf(first)} ${first.next ?? ""}`} filters={filters} isGrouped={isGrouped} first={first} />}
        <NewRowsButton count={waiting} more={waiting === newest.data.items.length && Boolean(newest.data.next)} onShow={() => setFirst(newest.data)} />
      </ListFrame>
    </>
  );
}

function positionOf(page: EventPage | undefined): number {
  return page?.items[0]?.position ?? 0;
}
