// Fields of counts and lengths of time, which arrow keys change.
import { type KeyboardEvent, useState } from "react";

import { TextField, type TextFieldProps } from "@/components/ui/fields";
import { formatDuration } from "@/lib/format/times";

import { secondsOf, stepped } from "../model/manifest";

const STEPS: Record<string, number> = { ArrowUp: 1, ArrowDown: -1 };
const FAST = 10;

export interface FigureFieldProps extends Omit<TextFieldProps, "onChange" | "value"> {
  value: string;
  /** The arrow keys do not go below it. */
  least: number;
  onChange: (value: string) => void;
}

/** A count, perhaps with a unit; with Shift the arrow keys change it by ten. */
export function CountField({ value, least, onChange, ...rest }: FigureFieldProps) {
  const step = (event: KeyboardEvent) => {
    const by = STEPS[event.key];
    if (by === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    onChange(stepped(value, event.shiftKey ? FAST * by : by, least));
  };
  return <TextField {...rest} inputMode="numeric" autoComplete="off" role="spinbutton" aria-valuetext={value || undefined} value={value} onChange={({ target }) => onChange(target.value)} onKeyDown={step} />;
}

/** A length of time in seconds, written as `12 h`; what is being typed stays as it is. */
export function DurationField({ value, onChange, ...rest }: Omit<FigureFieldProps, "least">) {
  const [typed, setTyped] = useState(() => wordsOf(value));
  const known = secondsOf(typed);
  const isOwn = value === (known === undefined ? typed.trim() : String(known));
  const write = (text: string) => {
    setTyped(text);
    const seconds = secondsOf(text);
    onChange(seconds === undefined ? text : String(seconds));
  };
  return <TextField {...rest} value={isOwn ? typed : wordsOf(value)} onChange={({ target }) => write(target.value)} />;
}

function wordsOf(value: string): string {
  const seconds = Number(value);
  const words = seconds > 0 ? formatDuration(seconds) : "";
  return words !== "" && secondsOf(words) === seconds ? words : value;
}
