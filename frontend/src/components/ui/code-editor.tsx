// An editor for YAML: line numbers, colors, folding, search, completion from the API's description, problems at their lines.
import { autocompletion, completionKeymap } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { yaml } from "@codemirror/lang-yaml";
import { HighlightStyle, bracketMatching, foldGutter, foldKeymap, syntaxHighlighting } from "@codemirror/language";
import { type Diagnostic, lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { unifiedMergeView } from "@codemirror/merge";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { Annotation, Compartment, EditorState, type Extension } from "@codemirror/state";
import { EditorView, highlightActiveLine, keymap, lineNumbers, placeholder } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { type Ref, useEffect, useEffectEvent, useImperativeHandle, useRef } from "react";

import { suggestionsAt } from "@/lib/manifests/completions";
import { descriptions } from "@/lib/manifests/descriptions";

import styles from "./code-editor.module.css";

export interface CodeEditorHandle {
  /** Selects a line, counted from 1, and brings it into sight. */
  select: (line: number) => void;
}

/** What is wrong in a text, at a line counted from 1. */
export interface CodeIssue {
  severity: "error" | "warning" | "note";
  line: number | undefined;
  message: string;
  remedy: string;
}

const NO_ISSUES: CodeIssue[] = [];

/** Of the page, which submits by it. */
const KEY_OF_PAGE = "Mod-Enter";
const EDITING = defaultKeymap.filter(({ key }) => key !== KEY_OF_PAGE);

export interface CodeEditorProps {
  label: string;
  value: string;
  readOnly?: boolean;
  /** What is shown where nothing is written. */
  hint?: string;
  issues?: CodeIssue[];
  /** As high as what is written, within bounds, instead of as high as the window allows. */
  compact?: boolean;
  onChange: (text: string) => void;
  ref?: Ref<CodeEditorHandle>;
}

const fromOutside = Annotation.define<boolean>();

const COLORS = HighlightStyle.define([
  { tag: tags.definition(tags.propertyName), color: "var(--run)" },
  { tag: [tags.string, tags.content], color: "var(--ink)" },
  { tag: tags.comment, color: "var(--ink-faint)", fontStyle: "italic" },
  { tag: [tags.meta, tags.keyword, tags.separator], color: "var(--hold)" },
]);

const THEME = EditorView.theme({
  "&": { color: "var(--ink)", backgroundColor: "var(--surface-sunk)" },
  ".cm-scroller": { fontFamily: "var(--font-mono)", fontSize: "var(--text-xs)", lineHeight: "var(--leading)" },
  ".cm-gutters": { color: "var(--ink-faint)", backgroundColor: "var(--surface-sunk)", borderRight: "1px solid var(--line)" },
  ".cm-activeLine": { backgroundColor: "var(--hover)" },
  ".cm-placeholder": { color: "var(--ink-faint)" },
  ".cm-content": { caretColor: "var(--ink)" },
  ".cm-tooltip, .cm-panels": { color: "var(--ink)", backgroundColor: "var(--surface-raised)", borderColor: "var(--line)" },
  ".cm-deletedChunk": { backgroundColor: "var(--bad-soft)" },
  ".cm-changedLine, .cm-insertedLine": { backgroundColor: "var(--good-soft)" },
  ".cm-collapsedLines": { color: "var(--ink-soft)", background: "var(--surface-sunk)" },
  ".cm-collapsedLines:before, .cm-collapsedLines:after": { content: "none" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { color: "var(--on-accent)", backgroundColor: "var(--accent)" },
});

const LOOK: Extension[] = [lineNumbers(), yaml(), syntaxHighlighting(COLORS), THEME];

async function complete(context: { pos: number; explicit: boolean; state: EditorState; matchBefore: (pattern: RegExp) => { from: number; text: string } | null }) {
  const word = context.matchBefore(/[\w./-]*/);
  if (word === null || (word.text === "" && !context.explicit)) return null;
  const found = suggestionsAt(context.state.doc.toString(), word.from, await descriptions());
  const options = found.map(({ label, kind, info }) => ({ label, type: kind === "field" ? "property" : "enum", info: info || undefined, apply: kind === "field" ? `${label}: ` : label }));
  return { from: word.from, options: options.map(({ info, ...rest }) => (info === undefined ? rest : { ...rest, info })), validFor: /^[\w./-]*$/ };
}

export function CodeEditor({ label, value, readOnly = false, hint = "", issues = NO_ISSUES, compact = false, onChange, ref }: CodeEditorProps) {
  const frame = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const writing = useRef(new Compartment());
  const changed = useEffectEvent((text: string) => onChange(text));
  const make = useEffectEvent((parent: HTMLElement) => {
    const extensions = [
      LOOK,
      history(),
      foldGutter(),
      bracketMatching(),
      highlightActiveLine(),
      highlightSelectionMatches(),
      lintGutter(),
      autocompletion({ override: [complete] }),
      keymap.of([...completionKeymap, ...lintKeymap, ...searchKeymap, ...foldKeymap, ...historyKeymap, ...EDITING]),
      placeholder(hint),
      EditorView.contentAttributes.of({ "aria-label": label, spellcheck: "false", tabindex: "0" }),
      writing.current.of(writable(readOnly)),
      EditorView.updateListener.of((update) => {
        if (update.docChanged && !update.transactions.some((one) => one.annotation(fromOutside))) changed(update.state.doc.toString());
      }),
    ];
    return new EditorView({ parent, state: EditorState.create({ doc: value, extensions }) });
  });
  useEffect(() => {
    if (frame.current === null) return;
    const made = make(frame.current);
    view.current = made;
    return () => made.destroy();
  }, []);
  useEffect(() => {
    const doc = view.current?.state.doc;
    if (doc !== undefined && doc.toString() !== value) view.current?.dispatch({ changes: { from: 0, to: doc.length, insert: value }, annotations: fromOutside.of(true) });
  }, [value]);
  useEffect(() => view.current?.dispatch({ effects: writing.current.reconfigure(writable(readOnly)) }), [readOnly]);
  useEffect(() => {
    if (view.current !== null) view.current.dispatch(setDiagnostics(view.current.state, diagnosticsOf(view.current.state, issues)));
  }, [issues, value]);
  useImperativeHandle(ref, () => ({
    select: (number) => {
      const editor = view.current;
      if (editor === null) return;
      const { from, to } = editor.state.doc.line(Math.min(Math.max(1, number), editor.state.doc.lines));
      editor.dispatch({ selection: { anchor: from, head: to }, scrollIntoView: true });
      editor.focus();
    },
  }));
  return <div ref={frame} className={styles.editor} data-compact={compact || undefined} />;
}

/** What changes in a text, line by line, with unchanged stretches folded. */
export function DiffView({ label, before, after }: { label: string; before: string; after: string }) {
  const frame = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (frame.current === null) return;
    const merge = unifiedMergeView({ original: before, mergeControls: false, collapseUnchanged: { margin: 2, minSize: 4 } });
    const extensions = [LOOK, merge, writable(true), EditorView.contentAttributes.of({ "aria-label": label })];
    const made = new EditorView({ parent: frame.current, state: EditorState.create({ doc: after, extensions }) });
    return () => made.destroy();
  }, [label, before, after]);
  return <div ref={frame} className={styles.diff} />;
}

function writable(readOnly: boolean): Extension {
  return [EditorState.readOnly.of(readOnly), EditorView.editable.of(!readOnly), readOnly ? EditorView.contentAttributes.of({ "aria-readonly": "true", tabindex: "0" }) : []];
}

function diagnosticsOf({ doc }: EditorState, issues: CodeIssue[]): Diagnostic[] {
  return issues
    .filter((issue) => issue.line !== undefined && issue.line <= doc.lines)
    .map(({ line = 1, severity, message, remedy }) => {
      const { from, to } = doc.line(line);
      return { from, to, severity: severity === "note" ? ("info" as const) : severity, message: [message, remedy].filter(Boolean).join(" ") };
    });
}
