// One value of a row of a form: a text, a number, a choice, the name of an object, or a list of names.
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { SelectField, TextField } from "@/components/ui/fields";

import { namesQuery } from "../api/objects";
import type { RowColumn } from "../model/forms";
import { namesAt, namesIn, type Place, valueAt, withNames, withValue } from "../model/places";

export interface CellProps {
  column: RowColumn;
  place: Place;
  text: string;
  readOnly: boolean;
  onChange: (text: string) => void;
}

export function Cell(props: CellProps) {
  const { column, place, text, readOnly, onChange } = props;
  if (column.of !== undefined) return <ObjectName {...props} of={column.of} />;
  if (column.listOf !== undefined) return <Names {...props} />;
  const value = valueAt(text, place);
  if (column.choices === undefined) {
    const write = (typed: string) => onChange(withValue(text, place, column.number && /^-?\d+$/.test(typed.trim()) ? Number(typed) : typed));
    return <TextField label={column.label} spellCheck={false} inputMode={column.number ? "numeric" : undefined} readOnly={readOnly} value={value} onChange={(event) => write(event.target.value)} />;
  }
  const options = column.choices.map((choice) => ({ value: choice, words: choice === "" ? "any" : choice }));
  return <SelectField label={column.label} disabled={readOnly} options={options} value={value || (column.choices[0] ?? "")} onChange={(event) => onChange(withValue(text, place, event.target.value))} />;
}

function ObjectName({ column, place, text, readOnly, onChange, of }: CellProps & { of: NonNullable<RowColumn["of"]> }) {
  const names = useQuery(namesQuery(of)).data ?? [];
  const value = valueAt(text, place);
  const known = value === "" || names.includes(value) ? names : [...names, value];
  const options = [...(value === "" ? [{ value: "", words: "choose one" }] : []), ...known.map((name) => ({ value: name, words: name }))];
  return <SelectField label={column.label} disabled={readOnly} options={options} value={value} onChange={(event) => onChange(withValue(text, place, event.target.value))} />;
}

/** Names with commas between them; they take effect when the field is left, so that a comma can be typed. */
function Names({ column, place, text, readOnly, onChange }: CellProps) {
  const [typed, setTyped] = useState<string | null>(null);
  const shown = namesAt(text, place).join(", ");
  const leave = () => {
    if (typed !== null && namesIn(typed).join(", ") !== shown) onChange(withNames(text, place, namesIn(typed)));
    setTyped(null);
  };
  return (
    <TextField
      label={column.label}
      placeholder="all"
      spellCheck={false}
      readOnly={readOnly}
      value={typed ?? shown}
      onChange={(event) => setTyped(event.target.value)}
      onBlur={leave}
      onKeyDown={(event) => {
        if (event.key === "Enter") leave();
      }}
    />
  );
}
