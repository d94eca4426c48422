// What the inbox is narrowed to besides a cause; it lives in the address.
import { useRef } from "react";

import { Button } from "@/components/ui/button";
import { SelectField } from "@/components/ui/fields";
import { TypedField } from "@/components/ui/typed-field";
import { useHotkeys } from "@/lib/hooks/use-hotkeys";

import { FILTER_NAMES, type InboxFilters, SINCE } from "../model/cases";
import styles from "./inbox.module.css";

export interface InboxFilterBarProps {
  filters: InboxFilters;
  onChange: (changes: Partial<InboxFilters>) => void;
}

const NOTHING = Object.fromEntries(FILTER_NAMES.map((name) => [name, ""]));

export function InboxFilterBar({ filters, onChange }: InboxFilterBarProps) {
  const nameInput = useRef<HTMLInputElement>(null);
  useHotkeys({ "/": () => nameInput.current?.focus() });
  return (
    <search className={styles.filters} aria-label="Filter the inbox">
      <TypedField label="Name contains" value={filters.name} inputRef={nameInput} onSettled={(name) => onChange({ name })} />
      <TypedField label="Namespace" value={filters.namespace} onSettled={(namespace) => onChange({ namespace })} />
      <TypedField label="ClusterQueue" value={filters.clusterQueue} onSettled={(clusterQueue) => onChange({ clusterQueue })} />
      <SelectField label="Came here" options={SINCE} value={filters.since} onChange={(event) => onChange({ since: event.target.value })} />
      {FILTER_NAMES.some((name) => filters[name] !== "") && (
        <Button look="quiet" onClick={() => onChange(NOTHING)}>
          Clear
        </Button>
      )}
    </search>
  );
}
