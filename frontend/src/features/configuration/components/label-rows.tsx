// A map of labels as rows; a key takes effect when its field is left, so that it may pass through another's name.
import { Plus, X } from "lucide-react";
import { useState } from "react";

import { Button } from "@/components/ui/button";
import { TextField } from "@/components/ui/fields";

import styles from "./form.module.css";

export interface LabelRowsProps {
  label: string;
  labels: [string, string][];
  readOnly: boolean;
  onChange: (labels: [string, string][]) => void;
}

export function LabelRows({ label, labels, readOnly, onChange }: LabelRowsProps) {
  const refusal = readOnly ? "Read-only" : undefined;
  const replaced = (index: number, row: [string, string]) => onChange(labels.map((found, number) => (number === index ? row : found)));
  const newKey = ["label", ...labels.map((_, index) => `label-${index + 2}`)].find((key) => labels.every(([found]) => found !== key)) ?? "label";
  return (
    <div className={styles.rows} role="group" aria-label={label}>
      {labels.map(([key, value], index) => (
        <div key={index} className={styles.row}>
          <KeyField taken={labels.filter((_, number) => number !== index).map(([found]) => found)} value={key} readOnly={readOnly} onChange={(typed) => replaced(index, [typed, value])} />
          <TextField label="Value" spellCheck={false} readOnly={readOnly} value={value} onChange={(event) => replaced(index, [key, event.target.value])} />
          <Button shape="icon" look="quiet" hint="Remove label" aria-label={`Remove label ${key}`} refusal={refusal} onClick={() => onChange(labels.filter((_, number) => number !== index))}>
            <X aria-hidden="true" />
          </Button>
        </div>
      ))}
      <Button refusal={refusal} onClick={() => onChange([...labels, [newKey, ""]])}>
        <Plus aria-hidden="true" />
        Add label
      </Button>
    </div>
  );
}

function KeyField({ taken, value, readOnly, onChange }: { taken: string[]; value: string; readOnly: boolean; onChange: (key: string) => void }) {
  const [typed, setTyped] = useState<string | null>(null);
  const leave = () => {
    const key = (typed ?? value).trim();
    if (key !== value && key !== "" && !taken.includes(key)) onChange(key);
    setTyped(null);
  };
  return (
    <TextField
      label="Key"
      spellCheck={false}
      readOnly={readOnly}
      value={typed ?? value}
      onChange={(event) => setTyped(event.target.value)}
      onBlur={leave}
      onKeyDown={(event) => {
        if (event.key === "Enter") leave();
      }}
    />
  );
}
