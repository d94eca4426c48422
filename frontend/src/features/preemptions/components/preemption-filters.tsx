// The filter of the ledger as tokens; it lives in the address, so that it can be shared.
import { FilterBar } from "@/components/ui/filter-bar";
import type { Round } from "@/lib/api/types";

import { type Filters, filtersOf, LANGUAGE, tokensOf, valuesFor } from "../model/filters";

export interface PreemptionFiltersProps {
  filters: Filters;
  /** Rounds: the values that they have are suggested. */
  rounds: readonly Round[];
  onChange: (filters: Filters) => void;
}

export function PreemptionFilters({ filters, rounds, onChange }: PreemptionFiltersProps) {
  return (
    <FilterBar
      label="Filter preemptions"
      placeholder="Filter, such as cohort:campus rule:InCohortReclamation"
      language={LANGUAGE}
      value={tokensOf(filters)}
      suggest={(parts) => valuesFor(parts, rounds)}
      onChange={(tokens) => onChange(filtersOf(tokens))}
    />
  );
}
