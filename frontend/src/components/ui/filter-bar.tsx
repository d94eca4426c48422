// A filter as a line of tokens over fields that are given as data, each removable, and one being written with suggestions.
// On a phone it fills the screen while a condition is written.
import { X } from "lucide-react";
import { type KeyboardEvent, type Ref, useId, useRef, useState } from "react";

import { useHotkeys } from "@/lib/hooks/use-hotkeys";

import { Button } from "./button";
import styles from "./filter-bar.module.css";
import { type FilterLanguage, fieldsFor, partsIn, type Suggestion, type TokenParts, tokenOf, withToken } from "./filter-language";

export type { Suggestion } from "./filter-language";

export interface FilterBarProps {
  label: string;
  placeholder: string;
  language: FilterLanguage;
  /** The tokens of the filter. */
  value: readonly string[];
  /** Values of the field of a token that is being written. */
  suggest: (parts: TokenParts) => Suggestion[];
  /** What is being written, and whether it can be filtered by as it stands. */
  onDraft?: (draft: string, token: string | undefined) => void;
  onChange: (tokens: string[]) => void;
}

export function FilterBar({ label, placeholder, language, value, suggest, onDraft, onChange }: FilterBarProps) {
  const [isWriting, setWriting] = useState(false);
  const [draft, setDraft] = useState("");
  const input = useRef<HTMLInputElement>(null);
  useHotkeys({ "/": () => input.current?.focus() });
  const write = (next: string) => {
    setDraft(next);
    onDraft?.(next, tokenOf(language, next));
  };
  const commit = (written: string) => {
    const token = tokenOf(language, written);
    if (token === undefined) return;
    write("");
    onChange(withToken(language, value, token));
  };
  const remove = (token: string) => onChange(value.filter((known) => known !== token));
  const parts = partsIn(language, draft);
  return (
    <div
      className={styles.bar}
      role="search"
      aria-label={label}
      data-writing={isWriting || undefined}
      onBlur={(event) => {
        // A touch that takes the focus nowhere leaves the bar as it is.
        if (event.relatedTarget !== null && !event.currentTarget.contains(event.relatedTarget)) setWriting(false);
      }}
      onKeyDown={(event) => {
        if (event.key === "Escape") setWriting(false);
      }}
      onFocus={(event) => {
        if (event.target instanceof HTMLInputElement) setWriting(true);
      }}
    >
      {value.map((token) => (
        <button key={token} type="button" className={styles.token} aria-label={`Remove ${token}`} onClick={() => remove(token)}>
          {token}
          <X aria-hidden="true" />
        </button>
      ))}
      <DraftField
        {...{ label, placeholder, draft }}
        tokens={value}
        suggestions={parts.field === "" ? fieldsFor(language, parts) : suggest(parts)}
        inputRef={input}
        onDraft={write}
        onCommit={commit}
        onRemove={remove}
      />
      {isWriting && (
        <Button look="primary" className={styles.done} onClick={() => setWriting(false)}>
          Done
        </Button>
      )}
    </div>
  );
}

interface DraftFieldProps {
  label: string;
  placeholder: string;
  tokens: readonly string[];
  draft: string;
  suggestions: Suggestion[];
  inputRef: Ref<HTMLInputElement>;
  onDraft: (draft: string) => void;
  /** The draft is done, as written or as suggested. */
  onCommit: (token: string) => void;
  onRemove: (token: string) => void;
}

function DraftField(props: DraftFieldProps) {
  const { label, placeholder, tokens, draft, suggestions, inputRef, onDraft } = props;
  const id = useId();
  const list = useSuggestionList(props);
  return (
    <div className={styles.field}>
      <input
        ref={inputRef}
        className={styles.input}
        role="combobox"
        aria-label={label}
        aria-expanded={list.isOpen}
        aria-controls={list.isOpen ? `${id}-list` : undefined}
        aria-autocomplete="list"
        aria-activedescendant={list.isOpen && list.active >= 0 ? `${id}-${list.active}` : undefined}
        placeholder={tokens.length === 0 ? placeholder : ""}
        value={draft}
        spellCheck={false}
        autoComplete="off"
        onChange={(event) => {
          list.open();
          onDraft(event.target.value);
        }}
        onFocus={list.open}
        onBlur={list.close}
        onKeyDown={list.onKeyDown}
      />
      {list.isOpen && <SuggestionList id={id} label={label} suggestions={suggestions} active={list.active} onTake={list.take} />}
    </div>
  );
}

/** Whether the suggestions are shown, which one is chosen, and the keys that choose. */
function useSuggestionList({ tokens, draft, suggestions, onDraft, onCommit, onRemove }: DraftFieldProps) {
  const [isShown, setShown] = useState(false);
  const [active, setActive] = useState(-1);
  const isOpen = isShown && suggestions.length > 0;
  const chosen = isOpen ? suggestions[active] : undefined;
  const show = (next: boolean) => () => {
    setActive(-1);
    setShown(next);
  };
  const take = (token: string) => {
    // A list that has served its purpose would stand over what was asked for.
    show(token.endsWith(":") || fillsScreen())();
    if (token.endsWith(":")) onDraft(token);
    else onCommit(token);
  };
  const move = (step: 1 | -1) => {
    setShown(true);
    const from = active < 0 && step < 0 ? 0 : active;
    if (suggestions.length > 0) setActive((from + step + suggestions.length) % suggestions.length);
  };
  const onKeyDown = (event: KeyboardEvent<HTMLInputElement>) => {
    const last = tokens.at(-1);
    if (event.key === "ArrowDown" || event.key === "ArrowUp") move(event.key === "ArrowDown" ? 1 : -1);
    else if (event.key === "Enter" && (chosen !== undefined || draft !== "")) take(chosen?.token ?? draft);
    else if (event.key === "Tab" && chosen !== undefined) take(chosen.token);
    else if (event.key === "Backspace" && draft === "" && last !== undefined) {
      onRemove(last);
      onDraft(last);
    } else if (event.key === "Escape") event.currentTarget.blur();
    else return;
    // Left to itself, the browser would empty the field, or submit or leave it as well.
    event.preventDefault();
  };
  return { isOpen, active, open: show(true), close: show(false), take, onKeyDown };
}

/** Whether the bar takes the screen, where nothing lies below it to be covered. */
function fillsScreen(): boolean {
  return window.matchMedia("(max-width: 48rem)").matches;
}

function SuggestionList({ id, label, suggestions, active, onTake }: { id: string; label: string; suggestions: Suggestion[]; active: number; onTake: (token: string) => void }) {
  return (
    <ul id={`${id}-list`} className={styles.list} role="listbox" aria-label={`${label}: suggestions`}>
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
