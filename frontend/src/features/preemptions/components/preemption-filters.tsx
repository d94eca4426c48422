// The filter of the ledger as tokens; it lives in the address, so that it can be shared.
import { useRef, useState } from "react";

import { FilterBar } from "@/components/ui/filter-bar";
import type { Round } from "@/lib/api/types";
import { useHotkeys } from "@/lib/hooks/use-hotkeys";

import { type Filters, changeOf, suggestionsOf, tokensOf } from "../model/filters";

export interface PreemptionFiltersProps {
  filters: Filters;
  /** Rounds: the values that they have are suggested. */
  rounds: readonly Round[];
  onChange: (changes: Partial<Filters>) => void;
}

export function PreemptionFilters({ filters, rounds, onChange }: PreemptionFiltersProps) {
  const input = useRef<HTMLInputElement>(null);
  const [draft, setDraft] = useState("");
  useHotkeys({ "/": () => input.current?.focus() });
  return (
    <FilterBar
      label="Filter preemptions"
      placeholder="Filter, such as cohort:campus rule:InCohortReclamation"
      inputRef={input}
      tokens={tokensOf(filters)}
      draft={draft}
      suggestions={suggestionsOf(draft, rounds)}
      onDraft={setDraft}
      onCommit={(token) => {
        const change = changeOf(token);
        if (change === undefined) return;
        setDraft("");
        onChange(change);
      }}
      onRemove={(token) => {
        const removed = Object.keys(changeOf(token) ?? {});
        onChange(Object.fromEntries(removed.map((name) => [name, ""])));
      }}
    />
  );
}
