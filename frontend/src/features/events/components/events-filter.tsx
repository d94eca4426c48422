// The filter of the log as tokens, with types, objects and actors that there are as suggestions.
import { useQuery } from "@tanstack/react-query";
import { useRef, useState } from "react";

import { FilterBar, type Suggestion } from "@/components/ui/filter-bar";
import { useHotkeys } from "@/lib/hooks/use-hotkeys";
import { useNow } from "@/lib/hooks/use-now";
import { useTimeRange } from "@/lib/hooks/use-time-range";

import { histogramQuery, newestEventsQuery } from "../api/events";
import { type EventFilters, TOKEN_FIELDS, isComplete, partsOf, periodOf, tokensOf, withToken, withoutToken } from "../model/filters";

const MAX_SUGGESTIONS = 12;

export interface EventsFilterProps {
  filters: EventFilters;
  onChange: (changes: Partial<EventFilters>) => void;
}

export function EventsFilter({ filters, onChange }: EventsFilterProps) {
  const input = useRef<HTMLInputElement>(null);
  const [draft, setDraft] = useState("");
  useHotkeys({ "/": () => input.current?.focus() });
  return (
    <FilterBar
      label="Filter events"
      placeholder="Filter by text, or type:workload.evicted actor:user:ana"
      inputRef={input}
      tokens={tokensOf(filters)}
      draft={draft}
      suggestions={useSuggestions(draft, filters)}
      onDraft={setDraft}
      onCommit={(token) => {
        if (!isComplete(token)) return;
        setDraft("");
        onChange(withToken(filters, token.trim()));
      }}
      onRemove={(token) => onChange(withoutToken(filters, token))}
    />
  );
}

/** Fields for the beginning of a name; after its colon the values that there are, the most frequent first. */
function useSuggestions(draft: string, filters: EventFilters): Suggestion[] {
  const { field, value } = partsOf(draft);
  const [range] = useTimeRange();
  const buckets = useQuery(histogramQuery(periodOf(range, useNow()))).data?.buckets;
  const facts = useQuery(newestEventsQuery(filters)).data?.items;
  if (field === "") return TOKEN_FIELDS.filter(({ name }) => name.startsWith(value.trim())).map(({ name, words }) => ({ token: `${name}:`, words }));
  const counts = new Map<string, number>();
  const count = (name: string, more: number) => counts.set(name, (counts.get(name) ?? 0) + more);
  if (field === "type") for (const { types } of buckets ?? []) for (const [name, more] of Object.entries(types)) count(name, more);
  if (field === "object") for (const { stream } of facts ?? []) count(stream, 1);
  if (field === "actor") for (const { actor } of facts ?? []) count(actor, 1);
  return [...counts]
    .filter(([name]) => name.includes(value))
    .sort(([one, most], [other, least]) => least - most || one.localeCompare(other))
    .slice(0, MAX_SUGGESTIONS)
    .map(([name, number]) => ({ token: `${field}:${name}`, words: `${number} ${number === 1 ? "event" : "events"}` }));
}
