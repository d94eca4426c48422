// The fields of a manifest, each with what the server says is wrong with it.
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useId } from "react";

import { SelectField, TextField } from "@/components/ui/fields";
import { type Violation, withRemedy } from "@/lib/api/problem";
import { levelWords } from "@/lib/format/levels";

import { priorityClassesQuery, topologiesQuery } from "../api/submit";
import { type FieldName, type Fields, fieldAt, withField } from "../model/manifest";
import { CountField, DurationField } from "./figure-fields";
import styles from "./submit.module.css";

export interface ManifestFormProps {
  text: string;
  fields: Fields;
  queues: string[];
  /** What is free in the queue that is chosen, in words. */
  free: string;
  errors: Violation[];
  onChange: (text: string) => void;
}

const NOTHING = { value: "", words: "none" };

export function ManifestForm({ text, fields, queues, free, errors, onChange }: ManifestFormProps) {
  const classes = useQuery(priorityClassesQuery);
  const write = (name: FieldName) => (value: string) => onChange(withField(text, name, value));
  const set = (name: FieldName) => (event: { target: { value: string } }) => write(name)(event.target.value);
  const field = (name: FieldName, label: string, placeholder = "") => (
    <Checked name={name} errors={errors}>
      {(described) => <TextField label={label} placeholder={placeholder} value={fields[name]} onChange={set(name)} {...described} />}
    </Checked>
  );
  const count = (name: FieldName, label: string, least: number, placeholder = "") => (
    <Checked name={name} errors={errors}>
      {(described) => <CountField label={label} placeholder={placeholder} least={least} value={fields[name]} onChange={write(name)} {...described} />}
    </Checked>
  );
  return (
    <section className={styles.form} aria-label="Fields">
      <QueueField {...{ text, fields, queues, free, errors, onChange }} />
      <div className={styles.pair}>
        {field("name", "Name")}
        <Checked name="priorityClass" errors={errors}>
          {(described) => (
            <SelectField
              label="Priority class"
              value={fields.priorityClass}
              options={optionsWith(fields.priorityClass, classes.data?.items.map(({ metadata }) => metadata.name) ?? [])}
              onChange={set("priorityClass")}
              {...described}
            />
          )}
        </Checked>
      </div>
      <div className={styles.counts}>
        {count("pods", "Pods", 1)}
        {count("minPods", "Minimum pods", 1, "all")}
        {count("gpu", "GPUs per pod", 0, "0")}
        {count("cpu", "CPU per pod", 0, "500m")}
        {count("memory", "Memory per pod", 0, "4Gi")}
      </div>
      <Checked name="required" errors={errors}>
        {(described) => <Placement value={fields.required} onChange={write("required")} {...described} />}
      </Checked>
      <div className={styles.pair}>
        {field("image", "Image")}
        {field("command", "Command")}
      </div>
      <div className={styles.pair}>
        <Checked name="maxSeconds" errors={errors}>
          {(described) => <DurationField label="Maximum run time" placeholder="no limit; e.g. 12 h" value={fields.maxSeconds} onChange={write("maxSeconds")} {...described} />}
        </Checked>
        {count("retries", "Retries of failed pods", 0, "0")}
      </div>
    </section>
  );
}

function QueueField({ text, fields, queues, free, errors, onChange }: ManifestFormProps) {
  const door = `${fields.namespace}/${fields.queue}`;
  return (
    <div className={styles.queue}>
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
      <output className={styles.free} aria-label="Free in the queue">
        {free}
      </output>
    </div>
  );
}

function optionsWith(value: string, names: string[]) {
  return [NOTHING, ...[...new Set([...names, value])].filter(Boolean).map((name) => ({ value: name, words: name }))];
}

interface PlacementProps extends Described {
  value: string;
  onChange: (level: string) => void;
}

/** The domain that all pods have to share: the narrowest first, as they are asked for most. */
function Placement({ value, onChange, ...described }: PlacementProps) {
  const name = useId();
  const topologies = useQuery(topologiesQuery);
  const known = topologies.data?.items.flatMap(({ spec }) => [...spec.levels].reverse().map((level) => level.nodeLabel)) ?? [];
  const levels = [...new Set([...known, value])].filter(Boolean);
  const choice = (level: string, words: string) => (
    <label key={level}>
      <input type="radio" name={name} checked={value === level} onChange={() => onChange(level)} />
      {words}
    </label>
  );
  return (
    <fieldset className={styles.placement} {...described}>
      <legend>Placement</legend>
      {levels.map((level) => choice(level, `same ${levelWords(level)}`))}
      {choice("", "anywhere")}
    </fieldset>
  );
}

type Described = { "aria-invalid"?: boolean; "aria-describedby"?: string };

function Checked({ name, errors, children }: { name: FieldName; errors: Violation[]; children: (described: Described) => ReactNode }) {
  const id = useId();
  const found = errors.filter(({ pointer }) => fieldAt(pointer) === name);
  if (found.length === 0) return <div>{children({})}</div>;
  return (
    <div>
      {children({ "aria-invalid": true, "aria-describedby": id })}
      <p id={id} className={styles.error}>
        {found.map(({ rule, remedy }) => withRemedy(rule, remedy)).join(" ")}
      </p>
    </div>
  );
}
