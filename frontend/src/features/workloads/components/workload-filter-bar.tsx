// The filters above the list of workloads.
import { ListFilter, X } from "lucide-react";
import { useRef, useState } from "react";

import { Button } from "@/components/ui/button";
import { TextField } from "@/components/ui/fields";
import { Menu } from "@/components/ui/menu";
import { PHASES, PhaseBadge, phaseWords } from "@/components/ui/phase-badge";
import type { Phase } from "@/lib/api/types";
import { useHotkeys } from "@/lib/hooks/use-hotkeys";

import { FILTER_NAMES, type WorkloadFilters, isNarrowed, toggled } from "../model/filters";
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
      <Typed label="Name contains" value={filters.name} inputRef={nameInput} onSettled={(name) => onChange({ name })} />
      <Typed label="Namespace" value={filters.namespace} onSettled={(namespace) => onChange({ namespace })} />
      <Typed label="Local queue" value={filters.queue} onSettled={(queue) => onChange({ queue })} />
      <Typed label="Cluster queue" value={filters.clusterQueue} onSettled={(clusterQueue) => onChange({ clusterQueue })} />
      <Menu
        heading="Show phases"
        stays
        trigger={
          <Button>
            <ListFilter aria-hidden="true" />
            {phases.length === 0 ? "All phases" : phases.map((phase) => phaseWords(phase as Phase)).join(", ")}
          </Button>
        }
        items={PHASES.map((phase) => ({
          key: phase,
          words: <PhaseBadge phase={phase} />,
          checked: phases.includes(phase),
          onSelect: () => onChange({ phase: toggled(filters.phase, phase) }),
        }))}
      />
      {isNarrowed(filters) && (
        <Button look="quiet" onClick={() => onChange(NOTHING)}>
          <X aria-hidden="true" />
          Clear
        </Button>
      )}
    </search>
  );
}

interface TypedProps {
  label: string;
  value: string;
  inputRef?: React.Ref<HTMLInputElement>;
  onSettled: (value: string) => void;
}

const SETTLE_MILLISECONDS = 250;

function Typed({ label, value, inputRef, onSettled }: TypedProps) {
  const [draft, setDraft] = useState(value);
  const [known, setKnown] = useState(value);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  // The address changed from elsewhere: a link, a cleared filter, the back button.
  if (value !== known) {
    setKnown(value);
    setDraft(value);
  }
  const type = (text: string) => {
    setDraft(text);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      setKnown(text.trim());
      onSettled(text.trim());
    }, SETTLE_MILLISECONDS);
  };
  return (
    <TextField
      ref={inputRef}
      label={label}
      type="search"
      value={draft}
      spellCheck={false}
      onChange={(event) => type(event.target.value)}
      onKeyDown={(event) => {
        if (event.key !== "Escape") return;
        // Left to itself, the browser would empty the field as well.
        event.preventDefault();
        event.currentTarget.blur();
      }}
    />
  );
}
