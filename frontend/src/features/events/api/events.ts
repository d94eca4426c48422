// Reading the log backwards, and how much happened when.
import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";

import { api, contentOf } from "@/lib/api/request";

import type { EventPage, Fact } from "@/lib/api/types";

import { type EventFilters, filtersWithout, type Without } from "../model/filters";

const PAGE_SIZE = 100;
const BUCKETS = 60;
/** Beyond them the server estimates the types from samples. */
const COUNTED_MINUTES = 10_080;
const LONG_STALE = 60_000;
const SEARCH_AGAIN = 15_000;

/** `groups` asks for what belongs together with the events of the page as well. */
function readPage(filters: EventFilters, groups: boolean, before: number | undefined, signal: AbortSignal): Promise<EventPage> {
  const wanted = Object.fromEntries(Object.entries(filters).filter(([, text]) => text !== ""));
  return contentOf(api.GET("/v1/events", { params: { query: { ...wanted, ...(groups && { groups }), limit: PAGE_SIZE, before } }, signal }));
}

/** The newest events that match, with the sizes of their groups where the list is grouped. */
export function newestEventsQuery(filters: EventFilters, isGrouped: boolean) {
  const isSearch = filters.text !== "";
  return queryOptions({
    // To look for a text costs more, so it is not done again with each event.
    queryKey: [isSearch ? "past-events" : "events", "newest", filters, isGrouped],
    queryFn: ({ signal }) => readPage(filters, isGrouped, undefined, signal),
    ...(isSearch && { refetchInterval: SEARCH_AGAIN }),
  });
}

/** How many events match without one of the filters, up to a page of them. */
export function withoutQuery(filters: EventFilters, token: string) {
  const wider = filtersWithout(filters, token);
  return queryOptions({
    queryKey: ["past-events", "without", wider],
    queryFn: async ({ signal }): Promise<Without> => {
      const page = await readPage(wider, false, undefined, signal);
      return { token, count: page.items.length, more: Boolean(page.next) };
    },
    staleTime: LONG_STALE,
  });
}

/** The events of an opened group are read in these steps; the server gives no more at a time. */
export const GROUP_STEPS = [PAGE_SIZE, 1000] as const;

/** What came of the cause of an event, newest first. */
export function sameCauseQuery(correlation: string, limit: number = PAGE_SIZE) {
  return queryOptions({
    queryKey: ["past-events", "cause", correlation, limit],
    queryFn: ({ signal }) => contentOf(api.GET("/v1/events", { params: { query: { correlation, limit } }, signal })),
    enabled: correlation !== "",
    staleTime: LONG_STALE,
  });
}

/** What happened to an object from an event on, newest first. */
export function sinceQuery({ stream, at }: Pick<Fact, "stream" | "at">) {
  return queryOptions({
    queryKey: ["events", "since", stream, at],
    queryFn: ({ signal }) => contentOf(api.GET("/v1/events", { params: { query: { stream, since: at, limit: PAGE_SIZE } }, signal })),
  });
}

/** The events that match from a first page on into the past. They never change, so they are never read again. */
export function eventsFromQuery(filters: EventFilters, isGrouped: boolean, first: EventPage) {
  return infiniteQueryOptions({
    queryKey: ["past-events", filters, isGrouped, first.items[0]?.position],
    queryFn: ({ pageParam, signal }) => readPage(filters, isGrouped, pageParam, signal),
    initialPageParam: undefined as number | undefined,
    initialData: { pages: [first], pageParams: [undefined] },
    staleTime: Infinity,
    getNextPageParam: (page) => page.next ?? undefined,
  });
}

/** One event by its position; none where the log does not reach that far. Events never change. */
export function eventQuery(position: number) {
  return queryOptions({
    queryKey: ["past-events", "one", position],
    queryFn: async ({ signal }) => {
      const { items } = await contentOf(api.GET("/v1/events", { params: { query: { limit: 1, before: position + 1 } }, signal }));
      return items.find((fact) => fact.position === position) ?? null;
    },
    staleTime: Infinity,
  });
}

/** How many events there were per slice of the last minutes. */
export function histogramQuery(period: { minutes: number; until?: string }) {
  const isLong = period.minutes > COUNTED_MINUTES;
  return queryOptions({
    // A long range hardly changes with each event, and costs more to read.
    queryKey: [isLong ? "past-events" : "events", "histogram", period],
    ...(isLong && { staleTime: LONG_STALE, refetchInterval: LONG_STALE }),
    queryFn: ({ signal }) =>
      contentOf(api.GET("/v1/events/histogram", { params: { query: { ...period, buckets: BUCKETS } }, signal })),
    placeholderData: keepPreviousData,
  });
}
