// What the ledger is narrowed to, as tokens such as `cohort:campus`: one for each field, all in the address.
import type { Round } from "@/lib/api/types";

import { rulesListOf } from "./ledger";

export const FILTER_FIELDS = [
  { name: "workload", words: "Preemptor or victim, as namespace/name" },
  { name: "clusterQueue", words: "ClusterQueue of either side" },
  { name: "preemptorQueue", words: "ClusterQueue of the preemptor" },
  { name: "victimQueue", words: "ClusterQueue of a victim" },
  { name: "cohort", words: "Cohort of either side" },
  { name: "rule", words: "Rule by which a victim was preempted" },
] as const;
export type FilterField = (typeof FILTER_FIELDS)[number]["name"];
export type Filters = Record<FilterField, string>;

const MAX_SUGGESTIONS = 10;

/** The filters that an address has. */
export function filtersIn(get: (name: string) => string): Filters {
  return { workload: get("workload"), clusterQueue: get("clusterQueue"), preemptorQueue: get("preemptorQueue"), victimQueue: get("victimQueue"), cohort: get("cohort"), rule: get("rule") };
}

/** The filters as tokens. */
export function tokensOf(filters: Filters): string[] {
  return FILTER_FIELDS.flatMap(({ name }) => (filters[name] === "" ? [] : [`${name}:${filters[name]}`]));
}

/** The change that a token makes; undefined for what is none. A word without a field is a workload. */
export function changeOf(token: string): Partial<Filters> | undefined {
  const text = token.trim();
  const colon = text.indexOf(":");
  const name = colon < 0 ? "workload" : text.slice(0, colon);
  const value = text.slice(colon + 1);
  const field = FILTER_FIELDS.find((known) => known.name === name);
  return field === undefined || value === "" ? undefined : { [field.name]: value };
}

/** Fields for the beginning of a name; after a colon the values that the rounds have, the most frequent first. */
export function suggestionsOf(draft: string, rounds: readonly Round[]): { token: string; words: string }[] {
  const text = draft.trim().toLowerCase();
  const colon = text.indexOf(":");
  if (colon < 0) return FILTER_FIELDS.filter(({ name }) => name.toLowerCase().startsWith(text)).map(({ name, words }) => ({ token: `${name}:`, words }));
  const field = FILTER_FIELDS.find(({ name }) => name.toLowerCase() === text.slice(0, colon))?.name;
  if (field === undefined) return [];
  const counts = new Map<string, number>();
  for (const round of rounds) for (const value of new Set(valuesOf(round, field))) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts]
    .filter(([value]) => value !== "" && value.toLowerCase().includes(text.slice(colon + 1)))
    .sort(([one, most], [other, least]) => least - most || one.localeCompare(other))
    .slice(0, MAX_SUGGESTIONS)
    .map(([value, count]) => ({ token: `${field}:${value}`, words: `${count} ${count === 1 ? "round" : "rounds"}` }));
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
