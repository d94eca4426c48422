// The filters of stuck workloads besides the cause; the URL holds them.
import { useRef } from "react";

import { Button } from "@/components/ui/button";
import { FieldGrid, SelectField } from "@/components/ui/fields";
import { TypedField } from "@/components/ui/typed-field";
import { useHotkeys } from "@/lib/hooks/use-hotkeys";

import { FILTER_NAMES, type StuckFilters, SINCE } from "../model/stuck-workloads";

export interface StuckFilterBarProps {
  filters: StuckFilters;
  onChange: (changes: Partial<StuckFilters>) => void;
}

const NOTHING = Object.fromEntries(FILTER_NAMES.map((name) => [name, ""]));

export function StuckFilterBar({ filters, onChange }: StuckFilterBarProps) {
  const nameInput = useRef<HTMLInputElement>(null);
  useHotkeys({ "/": () => nameInput.current?.focus() });
  return (
    <search aria-label="Filter stuck workloads">
      <FieldGrid>
        <TypedField label="Name contains" value={filters.name} inputRef={nameInput} onSettled={(name) => onChange({ name })} />
        <TypedField label="Namespace" value={filters.namespace} onSettled={(namespace) => onChange({ namespace })} />
        <TypedField label="ClusterQueue" value={filters.clusterQueue} onSettled={(clusterQueue) => onChange({ clusterQueue })} />
        <SelectField label="Since" options={SINCE} value={filters.since} onChange={(event) => onChange({ since: event.target.value })} />
        {FILTER_NAMES.some((name) => filters[name] !== "") && (
          <Button look="quiet" onClick={() => onChange(NOTHING)}>
            Clear
          </Button>
        )}
      </FieldGrid>
    </search>
  );
}
