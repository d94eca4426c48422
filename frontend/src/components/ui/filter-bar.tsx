// A line of conditions: each a removable token, and one being written with suggestions below it.
import { X } from "lucide-react";
import { type KeyboardEvent, type Ref, useId, useRef, useState } from "react";

import styles from "./filter-bar.module.css";

export interface Suggestion {
  /** What is written instead of the draft; one that ends with a colon is written on. */
  token: string;
  words: string;
}

export interface FilterBarProps {
  label: string;
  placeholder: string;
  tokens: string[];
  draft: string;
  suggestions: Suggestion[];
  inputRef?: Ref<HTMLInputElement>;
  onDraft: (draft: string) => void;
  /** The draft is done, as written or as suggested. */
  onCommit: (token: string) => void;
  onRemove: (token: string) => void;
}

export function FilterBar({ label, placeholder, tokens, draft, suggestions, inputRef, onDraft, onCommit, onRemove }: FilterBarProps) {
  const id = useId();
  const [open, setOpen] = useState(false);
  const [active, setActive] = useState(-1);
  const isOpen = open && suggestions.length > 0;
  const chosen = isOpen ? suggestions[active] : undefined;
  const take = (token: string) => {
    setActive(-1);
    if (token.endsWith(":")) {
      onDraft(token);
      return;
    }
    // What was asked for is below, and the list would stand over it.
    setOpen(false);
    onCommit(token);
  };
  const onKeyDown = (event: KeyboardEvent<HTMLInputElement>) => {
    const last = tokens.at(-1);
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      setOpen(true);
      const step = event.key === "ArrowDown" ? 1 : -1;
      if (suggestions.length > 0) setActive((active + step + suggestions.length + (active < 0 && step < 0 ? 1 : 0)) % suggestions.length);
    } else if (event.key === "Enter" || (event.key === "Tab" && chosen !== undefined)) {
      if (chosen === undefined && draft === "") return;
      event.preventDefault();
      take(chosen?.token ?? draft);
    } else if (event.key === "Backspace" && draft === "" && last !== undefined) {
      event.preventDefault();
      onRemove(last);
      onDraft(last);
    } else if (event.key === "Escape") {
      // Left to itself, the browser would empty the field as well.
      event.preventDefault();
      if (isOpen) setOpen(false);
      event.currentTarget.blur();
    }
  };
  return (
    <div className={styles.bar} role="search" aria-label={label}>
      {tokens.map((token) => (
        <button key={token} type="button" className={styles.token} aria-label={`Remove ${token}`} onClick={() => onRemove(token)}>
          {token}
          <X aria-hidden="true" />
        </button>
      ))}
      <div className={styles.field}>
        <input
          ref={inputRef}
          className={styles.input}
          role="combobox"
          aria-label={label}
          aria-expanded={isOpen}
          aria-controls={isOpen ? `${id}-list` : undefined}
          aria-autocomplete="list"
          aria-activedescendant={chosen === undefined ? undefined : `${id}-${active}`}
          placeholder={tokens.length === 0 ? placeholder : ""}
          value={draft}
          spellCheck={false}
          autoComplete="off"
          onChange={(event) => {
            setActive(-1);
            setOpen(true);
            onDraft(event.target.value);
          }}
          onFocus={() => setOpen(true)}
          onBlur={() => {
            setOpen(false);
            setActive(-1);
          }}
          onKeyDown={onKeyDown}
        />
        {isOpen && (
          <SuggestionList id={id} label={label} {...{ suggestions, active }} onTake={take} />
        )}
      </div>
    </div>
  );
}

function SuggestionList({ id, label, suggestions, active, onTake }: { id: string; label: string; suggestions: Suggestion[]; active: number; onTake: (token: string) => void }) {
  const list = useRef<HTMLUListElement>(null);
  return (
    <ul ref={list} id={`${id}-list`} className={styles.list} role="listbox" aria-label={`${label}: suggestions`}>
      {suggestions.map(({ token, words }, index) => (
        <li
          key={token}
          id={`${id}-${index}`}
          role="option"
          aria-selected={index === active}
          className={styles.option}
          // The input keeps the focus, which would close the list before the click.
          onPointerDown={(event) => event.preventDefault()}
          onClick={() => onTake(token)}
        >
          <span>{token}</span>
          <span className={styles.words}>{words}</span>
        </li>
      ))}
    </ul>
  );
}
