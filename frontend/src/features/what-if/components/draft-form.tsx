// The fields from which the manifest of a workload is written.
import { useQuery } from "@tanstack/react-query";

import { SelectField, TextField } from "@/components/ui/fields";
import { levelWords } from "@/lib/format/levels";

import { topologiesQuery } from "../api/simulations";
import type { Draft } from "../model/drafts";
import styles from "./what-if.module.css";

export interface DraftFormProps {
  draft: Draft;
  doors: readonly string[];
  onChange: (draft: Draft) => void;
}

export function DraftForm({ draft, doors, onChange }: DraftFormProps) {
  const topologies = useQuery(topologiesQuery);
  const levels = [...new Set(topologies.data?.items.flatMap(({ spec }) => spec.levels.map((level) => level.nodeLabel)))];
  const change = (name: keyof Draft) => (event: { target: { value: string } }) => onChange({ ...draft, [name]: event.target.value });
  const text = (name: keyof Draft, label: string, placeholder = "") => (
    <TextField label={label} placeholder={placeholder} value={draft[name]} onChange={change(name)} />
  );
  return (
    <div className={styles.fields}>
        {text("name", "Name")}
        <SelectField label="LocalQueue" value={draft.door} onChange={change("door")} options={choices(doors, "No LocalQueues")} />
        {text("pods", "Pods")}
        {text("cpu", "CPU per pod", "500m")}
        {text("memory", "Memory per pod", "4Gi")}
        {text("gpu", "GPUs per pod", "0")}
        {text("priority", "Priority", "from priority class")}
        <SelectField
          label="Topology constraint"
          value={draft.level}
          onChange={change("level")}
          options={[{ value: "", words: "none" }, ...levels.map((level) => ({ value: level, words: levelWords(level) }))]}
        />
    </div>
  );
}

function choices(values: readonly string[], none: string) {
  return values.length === 0 ? [{ value: "", words: none }] : values.map((value) => ({ value, words: value }));
}
