// The filter of the log as tokens, with types, objects and actors that there are as suggestions.
import { useQuery } from "@tanstack/react-query";

import { FilterBar, type Suggestion } from "@/components/ui/filter-bar";
import { frequentValues, type TokenParts } from "@/components/ui/filter-language";
import { useNow } from "@/lib/hooks/use-now";
import { useTimeRange } from "@/lib/hooks/use-time-range";

import { histogramQuery, newestEventsQuery } from "../api/events";
import { type EventFilters, filtersOf, LANGUAGE, periodOf, tokensOf } from "../model/filters";

export interface EventsFilterProps {
  filters: EventFilters;
  /** Whether the list is grouped, so that both read the same. */
  isGrouped: boolean;
  onChange: (changes: Partial<EventFilters>) => void;
}

export function EventsFilter({ filters, isGrouped, onChange }: EventsFilterProps) {
  return (
    <FilterBar
      label="Filter events"
      placeholder="Filter by text, or type:workload.evicted actor:user:ana"
      language={LANGUAGE}
      value={tokensOf(filters)}
      suggest={useValues(filters, isGrouped)}
      onChange={(tokens) => onChange(filtersOf(tokens))}
    />
  );
}

/** The values that the events in sight have for a field. */
function useValues(filters: EventFilters, isGrouped: boolean): (parts: TokenParts) => Suggestion[] {
  const [range] = useTimeRange();
  const buckets = useQuery(histogramQuery(periodOf(range, useNow()))).data?.buckets;
  const facts = useQuery(newestEventsQuery(filters, isGrouped)).data?.items;
  return ({ field, value }) => {
    const counts = new Map<string, number>();
    const count = (name: string, more: number) => counts.set(name, (counts.get(name) ?? 0) + more);
    if (field === "type") for (const { types } of buckets ?? []) for (const [name, more] of Object.entries(types)) count(name, more);
    if (field === "object") for (const { stream } of facts ?? []) count(stream, 1);
    if (field === "actor") for (const { actor } of facts ?? []) count(actor, 1);
    return frequentValues(field, value, counts, "event");
  };
}
