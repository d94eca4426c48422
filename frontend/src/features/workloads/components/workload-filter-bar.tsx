// The filters above the list of workloads.
import { ListFilter, UserRound, X } from "lucide-react";
import { useRef } from "react";

import { Button } from "@/components/ui/button";
import { Menu } from "@/components/ui/menu";
import { PhaseBadge, STATUSES, phaseWords } from "@/components/ui/phase-badge";
import { TypedField } from "@/components/ui/typed-field";
import type { Status } from "@/lib/api/types";
import { useHotkeys } from "@/lib/hooks/use-hotkeys";

import { FILTER_NAMES, MINE, type WorkloadFilters, isNarrowed, toggled } from "../model/filters";
import styles from "./workloads-page.module.css";

export interface WorkloadFilterBarProps {
  filters: WorkloadFilters;
  onChange: (changes: Partial<Record<(typeof FILTER_NAMES)[number], string>>) => void;
}

const NOTHING = Object.fromEntries(FILTER_NAMES.map((name) => [name, ""]));

export function WorkloadFilterBar({ filters, onChange }: WorkloadFilterBarProps) {
  const nameInput = useRef<HTMLInputElement>(null);
  useHotkeys({ "/": () => nameInput.current?.focus() });
  const phases = filters.phase === "" ? [] : filters.phase.split(",");
  return (
    <search className={styles.filters} aria-label="Filter workloads">
      <TypedField label="Name contains" value={filters.name} inputRef={nameInput} onSettled={(name) => onChange({ name })} />
      <TypedField label="Namespace" value={filters.namespace} onSettled={(namespace) => onChange({ namespace })} />
      <TypedField label="LocalQueue" value={filters.queue} onSettled={(queue) => onChange({ queue })} />
      <TypedField label="ClusterQueue" value={filters.clusterQueue} onSettled={(clusterQueue) => onChange({ clusterQueue })} />
      <Menu
        heading="Show phases"
        stays
        trigger={
          <Button>
            <ListFilter aria-hidden="true" />
            {chosenWords(phases)}
          </Button>
        }
        items={STATUSES.map((phase) => ({
          key: phase,
          words: <PhaseBadge phase={phase} />,
          checked: phases.includes(phase),
          onSelect: () => onChange({ phase: toggled(filters.phase, phase) }),
        }))}
      />
      <Button aria-pressed={filters.owner === MINE} onClick={() => onChange({ owner: filters.owner === MINE ? "" : MINE })}>
        <UserRound aria-hidden="true" />
        {filters.owner !== "" && filters.owner !== MINE ? `Owner: ${filters.owner}` : "Mine"}
      </Button>
      {isNarrowed(filters) && (
        <Button look="quiet" onClick={() => onChange(NOTHING)}>
          <X aria-hidden="true" />
          Clear
        </Button>
      )}
    </search>
  );
}

function chosenWords(phases: string[]): string {
  const [first] = phases;
  if (first === undefined) return "All phases";
  return phases.length === 1 ? phaseWords(first as Status) : `${phases.length} phases`;
}
