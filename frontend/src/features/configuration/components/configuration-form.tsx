// The form of a manifest: it edits the same text as the editor, and shows problems at their fields.
import { useQuery } from "@tanstack/react-query";
import { Plus, X } from "lucide-react";
import { type ReactNode, useId } from "react";

import { Button } from "@/components/ui/button";
import { FieldGrid, SelectField, TextField } from "@/components/ui/fields";
import { describedAt } from "@/lib/manifests/completions";
import { descriptionsQuery } from "@/lib/manifests/descriptions";

import { namesQuery } from "../api/objects";
import type { Issue } from "../model/documents";
import { type FormField, FORMS, type LabelsInput, type ReferenceInput, type RowsInput, type SelectorInput } from "../model/forms";
import { countAt, isWritten, labelsAt, type Place, pointerTo, valueAt, withLabels, withoutRow, withRow, withValue } from "../model/places";
import { Cell } from "./cell";
import styles from "./form.module.css";
import { IssueWords } from "./issues";
import { LabelRows } from "./label-rows";
import { QuotaTable } from "./quota-table";

export interface FormProps {
  kind: string;
  text: string;
  /** Whether the object exists, so that what names it stays. */
  exists: boolean;
  readOnly: boolean;
  issues: Issue[];
  onChange: (text: string) => void;
}

interface InputProps<Field extends FormField> extends Omit<FormProps, "kind" | "exists"> {
  field: Field;
  help: string;
}

export function ConfigurationForm({ kind, exists, ...rest }: FormProps) {
  const described = useQuery(descriptionsQuery);
  const helpFor = (place: Place) => describedAt(described.data ?? {}, kind, place);
  return (
    <div className={styles.sections}>
      {(FORMS[kind] ?? []).map((section) => (
        <fieldset key={section.title} className={styles.section}>
          <legend>{section.title}</legend>
          <FieldGrid wide>
            {section.fields.map((field) => (
              <OneField key={pointerTo(field.place)} {...rest} field={field} help={helpFor(field.place)} readOnly={rest.readOnly || (exists && field.isFixed === true)} />
            ))}
          </FieldGrid>
        </fieldset>
      ))}
    </div>
  );
}

function OneField({ field, ...rest }: InputProps<FormField>) {
  switch (field.input) {
    case "text":
    case "number":
      return <WrittenField {...rest} field={field} />;
    case "choice":
      return <Choice {...rest} field={field} options={field.choices.map((value) => ({ value, words: value }))} empty={field.choices.includes(field.usual) ? undefined : "none"} usual={field.usual} />;
    case "reference":
      return <Reference {...rest} field={field} />;
    case "labels":
      return <Labels {...rest} field={field} />;
    case "rows":
      return <Rows {...rest} field={field} />;
    case "selector":
      return <Selector {...rest} field={field} />;
    case "quotas":
      return <QuotaTable text={rest.text} readOnly={rest.readOnly} issues={rest.issues} onChange={rest.onChange} />;
  }
}

type WrittenInput = Extract<FormField, { input: "text" | "number" }>;

function WrittenField({ field, help, text, readOnly, issues, onChange }: InputProps<WrittenInput>) {
  const write = (typed: string) => onChange(withValue(text, field.place, field.input === "number" && /^-?\d+$/.test(typed.trim()) ? Number(typed) : typed));
  return (
    <Explained help={help} issues={issuesAt(issues, field.place)}>
      {(described) => (
        <TextField
          label={field.label}
          value={valueAt(text, field.place)}
          placeholder={"usual" in field ? field.usual : undefined}
          inputMode={field.input === "number" ? "numeric" : undefined}
          spellCheck={false}
          readOnly={readOnly}
          onChange={(event) => write(event.target.value)}
          {...described}
        />
      )}
    </Explained>
  );
}

interface ChoiceProps extends InputProps<FormField> {
  options: { value: string; words: string }[];
  /** What no value is called, where it can be chosen. */
  empty: string | undefined;
  /** What holds where nothing is written. */
  usual?: string | undefined;
}

function Choice({ field, help, text, readOnly, issues, onChange, options, empty, usual }: ChoiceProps) {
  const value = valueAt(text, field.place) || (empty === undefined ? (usual ?? "") : "");
  const known = options.some((option) => option.value === value) || value === "" ? options : [...options, { value, words: value }];
  return (
    <Explained help={help} issues={issuesAt(issues, field.place)}>
      {(described) => (
        <SelectField
          label={field.label}
          options={empty === undefined ? known : [{ value: "", words: empty }, ...known]}
          value={value}
          disabled={readOnly}
          onChange={(event) => onChange(withValue(text, field.place, event.target.value))}
          {...described}
        />
      )}
    </Explained>
  );
}

function Reference({ field, ...rest }: InputProps<ReferenceInput>) {
  const names = useQuery(namesQuery(field.of));
  return <Choice {...rest} field={field} options={(names.data ?? []).map((value) => ({ value, words: value }))} empty={field.usual ?? "choose one"} />;
}

function Labels({ field, help, text, readOnly, issues, onChange }: InputProps<LabelsInput>) {
  return (
    <Explained wide help={help} issues={issuesAt(issues, field.place)}>
      {() => <LabelRows label={field.label} labels={labelsAt(text, field.place)} readOnly={readOnly} onChange={(labels) => onChange(withLabels(text, field.place, labels))} />}
    </Explained>
  );
}

function Rows({ field, help, text, readOnly, issues, onChange }: InputProps<RowsInput>) {
  // A column without a choice begins empty, and is left out of what is written.
  const begun = Object.fromEntries(field.columns.flatMap(({ name, choices, listOf, number }): [string, string][] => (listOf || number || choices?.[0] === "" ? [] : [[name, choices?.[0] ?? ""]])));
  return (
    <Explained wide help={help} issues={issuesAt(issues, field.place)}>
      {() => (
        <div className={styles.rows}>
          {Array.from({ length: countAt(text, field.place) }, (_, index) => (
            <div key={index} className={styles.row} role="group" aria-label={`${field.one} ${index + 1}`}>
              {field.columns.map((column) => (
                <Cell key={column.name} column={column} place={[...field.place, index, column.name]} text={text} readOnly={readOnly} onChange={onChange} />
              ))}
              <Button shape="icon" look="quiet" hint={`Remove ${field.one}`} aria-label={`Remove ${field.one} ${index + 1}`} refusal={readOnly ? "Read-only" : undefined} onClick={() => onChange(withoutRow(text, field.place, index))}>
                <X aria-hidden="true" />
              </Button>
            </div>
          ))}
          <Button refusal={readOnly ? "Read-only" : undefined} onClick={() => onChange(withRow(text, field.place, begun))}>
            <Plus aria-hidden="true" />
            Add {field.one}
          </Button>
        </div>
      )}
    </Explained>
  );
}

/** Which namespaces may use a ClusterQueue: an absent selector is none, an empty one is all. */
function Selector({ field, help, text, readOnly, issues, onChange }: InputProps<SelectorInput>) {
  const labels = [...field.place, "matchLabels"];
  const hasOthers = isWritten(text, [...field.place, "matchExpressions"]);
  const value = !isWritten(text, field.place) ? "none" : hasOthers || isWritten(text, labels) ? "labels" : "all";
  const choose = (wanted: string) => {
    const without = withValue(text, field.place, "");
    if (wanted === "none") onChange(without);
    else onChange(withValue(without, field.place, wanted === "all" ? {} : { matchLabels: { "kubernetes.io/metadata.name": "" } }));
  };
  return (
    <Explained wide={value === "labels"} help={help} issues={issuesAt(issues, field.place)}>
      {(described) => (
        <>
          <SelectField
            label={field.label}
            options={[
              { value: "all", words: "all" },
              { value: "none", words: "none" },
              { value: "labels", words: "with labels" },
            ]}
            value={value}
            disabled={readOnly}
            onChange={(event) => choose(event.target.value)}
            {...described}
          />
          {value === "labels" && (
            <LabelRows label="Labels of namespaces" labels={labelsAt(text, labels)} readOnly={readOnly} onChange={(found) => onChange(withValue(text, labels, Object.fromEntries(found)))} />
          )}
          {hasOthers && <p className={styles.help}>It has further requirements (matchExpressions); edit them as YAML.</p>}
        </>
      )}
    </Explained>
  );
}

/** What is wrong at a place, or below it. */
export function issuesAt(issues: Issue[], place: Place): Issue[] {
  const pointer = pointerTo(place);
  return issues.filter((issue) => issue.pointer === pointer || issue.pointer.startsWith(`${pointer}/`));
}

type Described = { "aria-invalid"?: boolean; "aria-describedby"?: string };

interface ExplainedProps {
  help: string;
  issues: Issue[];
  wide?: boolean;
  children: (described: Described) => ReactNode;
}

/** A field with its description from the API, and what is wrong with it. */
export function Explained({ help, issues, wide = false, children }: ExplainedProps) {
  const id = useId();
  const isInvalid = issues.some((issue) => issue.severity === "error");
  const described = { ...(isInvalid && { "aria-invalid": true }), ...((help !== "" || issues.length > 0) && { "aria-describedby": id }) };
  return (
    <div className={styles.field} data-wide={wide || undefined}>
      {children(described)}
      <div id={id}>
        {help !== "" && <p className={styles.help}>{help}</p>}
        {issues.map((issue) => (
          <IssueWords key={issue.pointer + issue.message} issue={issue} />
        ))}
      </div>
    </div>
  );
}
