// The fields of a manifest, each with what the server says is wrong with it.
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useId } from "react";

import { SelectField, TextField } from "@/components/ui/fields";
import { type Violation, withRemedy } from "@/lib/api/problem";
import { levelWords } from "@/lib/format/levels";

import { priorityClassesQuery, topologiesQuery } from "../api/submit";
import { type FieldName, type Fields, fieldAt, withField } from "../model/manifest";
import styles from "./submit.module.css";

export interface ManifestFormProps {
  text: string;
  fields: Fields;
  queues: string[];
  errors: Violation[];
  onChange: (text: string) => void;
}

const NOTHING = { value: "", words: "none" };

export function ManifestForm({ text, fields, queues, errors, onChange }: ManifestFormProps) {
  const classes = useQuery(priorityClassesQuery);
  const topologies = useQuery(topologiesQuery);
  const levels = [...new Set(topologies.data?.items.flatMap(({ spec }) => spec.levels.map((level) => level.nodeLabel)))];
  const set = (name: FieldName) => (event: { target: { value: string } }) => onChange(withField(text, name, event.target.value));
  const field = (name: FieldName, label: string, placeholder = "") => (
    <Checked key={name} name={name} errors={errors}>
      {(described) => <TextField label={label} placeholder={placeholder} value={fields[name]} onChange={set(name)} {...described} />}
    </Checked>
  );
  const door = `${fields.namespace}/${fields.queue}`;
  return (
    <section className={styles.form} aria-label="Fields">
      <Checked name="queue" errors={errors}>
        {(described) => (
          <SelectField
            label="LocalQueue"
            value={door}
            options={[...new Set([...queues, door])].map((value) => ({ value, words: value === "/" ? "none" : value }))}
            onChange={({ target: { value } }) => {
              const [namespace = "", queue = ""] = value.split("/");
              onChange(withField(withField(text, "namespace", namespace), "queue", queue));
            }}
            {...described}
          />
        )}
      </Checked>
      {field("name", "Name")}
      <SelectField
        label="Priority class"
        value={fields.priorityClass}
        options={[NOTHING, ...(classes.data?.items ?? []).map(({ metadata }) => ({ value: metadata.name, words: metadata.name }))]}
        onChange={set("priorityClass")}
      />
      {field("pods", "Pods")}
      {field("minPods", "Minimum pods", "all")}
      {field("gpu", "GPUs per pod", "0")}
      {field("cpu", "CPU per pod", "500m")}
      {field("memory", "Memory per pod", "4Gi")}
      <SelectField
        label="Placement"
        value={fields.required}
        options={[{ value: "", words: "anywhere" }, ...levels.map((level) => ({ value: level, words: `same ${levelWords(level)}` }))]}
        onChange={set("required")}
      />
      {field("image", "Image")}
      {field("command", "Command")}
      {field("maxSeconds", "Maximum run time in seconds", "no limit")}
    </section>
  );
}

type Described = { "aria-invalid"?: boolean; "aria-describedby"?: string };

function Checked({ name, errors, children }: { name: FieldName; errors: Violation[]; children: (described: Described) => ReactNode }) {
  const id = useId();
  const found = errors.find(({ pointer }) => fieldAt(pointer) === name);
  if (found === undefined) return <div>{children({})}</div>;
  return (
    <div>
      {children({ "aria-invalid": true, "aria-describedby": id })}
      <p id={id} className={styles.error}>
        {withRemedy(found.rule, found.remedy)}
      </p>
    </div>
  );
}
