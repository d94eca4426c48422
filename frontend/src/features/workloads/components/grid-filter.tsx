// The filter of the grid: what is typed narrows the list after a pause, and becomes a token when it is done.
import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";

import { FilterBar, type Suggestion } from "@/components/ui/filter-bar";
import type { TokenParts } from "@/components/ui/filter-language";

import { valuesQuery } from "../api/workload-rows";
import { FIELDS, LANGUAGE, exact, partsOf, startsOf, tokensIn, withoutToken } from "../model/filter-text";
import { GROUPS, type GroupName } from "../model/grid";

const SETTLE_MILLISECONDS = 250;

export function GridFilter({ filter, onChange }: { filter: string; onChange: (filter: string) => void }) {
  const [draft, setDraft] = useState({ text: "", token: "" });
  // The draft as the filter has it meanwhile; it is no token yet.
  const [settled, setSettled] = useState("");
  const isDrafted = settled !== "" && tokensIn(filter).includes(settled);
  const committed = isDrafted ? withoutToken(filter, settled) : filter;
  useEffect(() => {
    if (draft.token === settled) return undefined;
    const timer = setTimeout(() => {
      setSettled(draft.token);
      onChange(draft.token === "" ? committed : [...tokensIn(committed), draft.token].join(" "));
    }, SETTLE_MILLISECONDS);
    return () => clearTimeout(timer);
  }, [draft.token, settled, committed, onChange]);
  return (
    <FilterBar
      label="Filter workloads"
      placeholder="Filter, such as owner:me gpu:>8 train"
      language={LANGUAGE}
      value={tokensIn(committed)}
      suggest={useValues(draft.text, committed)}
      onDraft={(text, token = "") => setDraft({ text, token })}
      onChange={(tokens) => {
        // What is still being written stays in force; a draft that is done has become a token.
        const still = draft.token !== "" && isDrafted && !tokens.includes(settled) && tokens.length < tokensIn(committed).length;
        if (!still) setSettled("");
        onChange([...tokens, ...(still ? [settled] : [])].join(" "));
      }}
    />
  );
}

/** The values of a counted field, read for what is being written; first values of others. */
function useValues(draft: string, committed: string): (parts: TokenParts) => Suggestion[] {
  const asked = partsOf(draft);
  const part = asked.value.replaceAll(/["=]/g, "");
  const by = countedBy(asked.field);
  const found = useQuery({ ...valuesQuery(committed, by ?? "owner", part), enabled: by !== undefined });
  return (parts) => {
    if (by === undefined || parts.field !== by) return startsOf(parts);
    const sign = parts.excludes ? "-" : "";
    const known = (found.data?.items ?? []).filter(({ value: text }) => text.toLowerCase().includes(part.toLowerCase()) && text !== "");
    const values = known.map(({ value: text, count }) => ({ token: sign + exact(by, text), words: `${count} ${count === 1 ? "workload" : "workloads"}` }));
    const special = by === "owner" && "me".startsWith(part) ? [{ token: `${sign}owner:me`, words: "you" }] : [];
    const never = by === "phase" && "unschedulable".startsWith(part.toLowerCase()) ? [{ token: `${sign}phase:Unschedulable`, words: "can never start" }] : [];
    return [...special, ...values, ...never];
  };
}

function countedBy(field: string): GroupName | undefined {
  const isCounted = FIELDS.some(({ name, counted }) => name === field && counted);
  return GROUPS.find((name) => isCounted && name === field);
}
