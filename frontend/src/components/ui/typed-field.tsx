// A text field that reports its value after a pause in typing; Escape restores the last value.
import { type Ref, useRef, useState } from "react";

import { TextField } from "./fields";

export interface TypedFieldProps {
  label: string;
  value: string;
  inputRef?: Ref<HTMLInputElement>;
  onSettled: (value: string) => void;
}

const SETTLE_MILLISECONDS = 250;

export function TypedField({ label, value, inputRef, onSettled }: TypedFieldProps) {
  const [draft, setDraft] = useState(value);
  const [known, setKnown] = useState(value);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  // It changed from elsewhere: a link, a cleared filter, the back button.
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
