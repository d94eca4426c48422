// The filter of the grid: what is typed narrows the list after a pause, and becomes a token when it is done.
import { useQuery } from "@tanstack/react-query";
import { useDeferredValue, useEffect, useRef, useState } from "react";

import { FilterBar, type Suggestion } from "@/components/ui/filter-bar";
import { useHotkeys } from "@/lib/hooks/use-hotkeys";

import { valuesQuery } from "../api/workload-rows";
import { FIELDS, exact, isComplete, nextWords, partsOf, tokensIn, withToken, withoutToken } from "../model/filter-text";
import { GROUPS } from "../model/grid";

const SETTLE_MILLISECONDS = 250;

export function GridFilter({ filter, onChange }: { filter: string; onChange: (filter: string) => void }) {
  const input = useRef<HTMLInputElement>(null);
  const [draft, setDraft] = useState("");
  // The draft as the filter has it meanwhile; it is no token yet.
  const [settled, setSettled] = useState("");
  useHotkeys({ "/": () => input.current?.focus() });
  const isDrafted = settled !== "" && tokensIn(filter).includes(settled);
  const committed = isDrafted ? withoutToken(filter, settled) : filter;
  useEffect(() => {
    const next = isComplete(draft) && partsOf(draft).value !== "" ? draft.trim() : "";
    if (next === settled) return undefined;
    const timer = setTimeout(() => {
      setSettled(next);
      onChange(next === "" ? committed : [...tokensIn(committed), next].join(" "));
    }, SETTLE_MILLISECONDS);
    return () => clearTimeout(timer);
  }, [draft, settled, committed, onChange]);
  return (
    <FilterBar
      label="Filter workloads"
      placeholder="Filter, such as owner:me gpu:>8 train"
      inputRef={input}
      tokens={tokensIn(committed)}
      draft={draft}
      suggestions={useSuggestions(draft, committed)}
      onDraft={setDraft}
      onCommit={(token) => {
        if (!isComplete(token)) return;
        setDraft("");
        setSettled("");
        onChange(withToken(committed, token.trim()));
      }}
      onRemove={(token) => onChange(withoutToken(isDrafted ? filter : committed, token))}
    />
  );
}

function useSuggestions(draft: string, committed: string): Suggestion[] {
  const { excludes, field, value } = partsOf(useDeferredValue(draft));
  const counted = FIELDS.some(({ name, counted: isCounted }) => name === field && isCounted);
  const by = GROUPS.find((name) => counted && name === field);
  const part = value.replaceAll(/["=]/g, "");
  const found = useQuery({ ...valuesQuery(committed, by ?? "owner", part), enabled: by !== undefined });
  if (by === undefined) return nextWords(draft);
  const sign = excludes ? "-" : "";
  const known = (found.data?.items ?? []).filter(({ value: text }) => text.toLowerCase().includes(part.toLowerCase()) && text !== "");
  const values = known.map(({ value: text, count }) => ({ token: sign + exact(by, text), words: `${count} ${count === 1 ? "workload" : "workloads"}` }));
  const special = by === "owner" && "me".startsWith(part) ? [{ token: `${sign}owner:me`, words: "you" }] : [];
  const never = by === "phase" && "unschedulable".startsWith(part.toLowerCase()) ? [{ token: `${sign}phase:Unschedulable`, words: "can never start" }] : [];
  return [...special, ...values, ...never];
}
