// What the ledger is narrowed to, as tokens such as `cohort:campus`: one for each field, all in the address.
import { type FilterLanguage, frequentValues, partsIn, type Suggestion, type TokenParts } from "@/components/ui/filter-language";
import type { Round } from "@/lib/api/types";

import { rulesListOf } from "./ledger";

export const FILTER_FIELDS = [
  { name: "workload", words: "Preemptor or victim, as namespace/name", single: true },
  { name: "clusterQueue", words: "ClusterQueue of either side", single: true },
  { name: "preemptorQueue", words: "ClusterQueue of the preemptor", single: true },
  { name: "victimQueue", words: "ClusterQueue of a victim", single: true },
  { name: "cohort", words: "Cohort of either side", single: true },
  { name: "rule", words: "Rule by which a victim was preempted", single: true },
] as const;
export type FilterField = (typeof FILTER_FIELDS)[number]["name"];
export type Filters = Record<FilterField, string>;

export const LANGUAGE: FilterLanguage = { fields: FILTER_FIELDS, bare: { field: "workload" } };

/** The filters that an address has. */
export function filtersIn(get: (name: string) => string): Filters {
  return { workload: get("workload"), clusterQueue: get("clusterQueue"), preemptorQueue: get("preemptorQueue"), victimQueue: get("victimQueue"), cohort: get("cohort"), rule: get("rule") };
}

/** The filters as tokens. */
export function tokensOf(filters: Filters): string[] {
  return FILTER_FIELDS.flatMap(({ name }) => (filters[name] === "" ? [] : [`${name}:${filters[name]}`]));
}

/** The filters that tokens say. */
export function filtersOf(tokens: readonly string[]): Filters {
  const parts = tokens.map((token) => partsIn(LANGUAGE, token));
  return filtersIn((name) => parts.find(({ field }) => field === name)?.value ?? "");
}

/** The values that the rounds have for a field, the most frequent first. */
export function valuesFor({ field, value: part }: TokenParts, rounds: readonly Round[]): Suggestion[] {
  const counts = new Map<string, number>();
  for (const round of rounds) for (const value of new Set(valuesOf(round, field as FilterField))) counts.set(value, (counts.get(value) ?? 0) + 1);
  return frequentValues(field, part, counts, "round");
}

function valuesOf(round: Round, field: FilterField): string[] {
  switch (field) {
    case "workload":
      return [round.preemptor, ...round.victims.map(({ workload }) => workload)];
    case "clusterQueue":
      return [round.clusterQueue, ...round.victims.map(({ clusterQueue }) => clusterQueue)];
    case "preemptorQueue":
      return [round.clusterQueue];
    case "victimQueue":
      return round.victims.map(({ clusterQueue }) => clusterQueue);
    case "cohort":
      return [round.cohort ?? "", ...round.victims.map(({ cohort }) => cohort ?? "")];
    case "rule":
      return rulesListOf(round);
  }
}
