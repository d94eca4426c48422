// An editor for manifests, as a text and for common kinds as a form, with issues at their places, preview and apply.
import { useQuery } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { FlaskConical, RotateCcw } from "lucide-react";
import { type ReactNode, useDeferredValue, useEffect, useMemo, useRef, useState } from "react";

import { Button } from "@/components/ui/button";
import { Choices } from "@/components/ui/choices";
import { CodeEditor, type CodeEditorHandle } from "@/components/ui/code-editor";
import { Card } from "@/components/ui/layout";
import { Empty, PartialNote } from "@/components/ui/states";
import { problemOf } from "@/lib/api/problem";
import type { References } from "@/lib/api/types";
import { configurationAddress } from "@/lib/events";
import { useIdentity } from "@/lib/hooks/use-session";
import { useUrl } from "@/lib/hooks/use-url";
import { refusalFor } from "@/lib/permissions";

import { checkQuery, referencesQuery } from "../api/objects";
import { threeWayMerge } from "../model/three-way-merge";
import { type Issue, issuesOf, issuesOfProblem, keyOf, type Manifest, outcomeWords, streamOf } from "../model/documents";
import { formKindOf, isOnForm } from "../model/forms";
import { documentOf } from "../model/places";
import { ApplyDialog } from "./apply-dialog";
import { ConfigurationForm } from "./configuration-form";
import styles from "./configuration.module.css";
import { Issues } from "./issues";
import { Uses } from "./uses";

const PAUSE = 400;
const PHONE = "(max-width: 44rem)";

interface Draft {
  text: string;
  /** What it was typed over. */
  over: string;
}

export interface EditorProps {
  title: string;
  /** What is configured now, or what a new object begins with. */
  begin: string;
  /** Whether the object is a new one. */
  isNew?: boolean;
  /** The object that is there; undefined for a new one and for pasted text. */
  object?: { kind: string; name: string };
  /** Its changes, in a tab of their own. */
  changes?: ReactNode;
}

export function Editor({ title, begin, isNew = false, object, changes }: EditorProps) {
  const { history } = useRouter();
  const refusal = refusalFor(useIdentity(), { on: "queue" });
  // As long as nothing is typed, it shows what is configured now; then what it was typed over is kept in mind.
  const [draft, setDraft] = useState<Draft | null>(null);
  const [applying, setApplying] = useState(false);
  const area = useRef<CodeEditorHandle>(null);
  const text = draft?.text ?? begin;
  // A new object has no faults before anything is typed.
  const isUntouched = isNew && draft === null;
  const { checked, issues, isChecking } = useChecked(isUntouched ? "" : text, refusal === undefined);
  const isBroken = issues.some((issue) => issue.severity === "error");
  const kind = formKindOf(begin);
  const uses = useQuery(referencesQuery(object === undefined ? "" : streamOf(object.kind, object.name)));
  const tab = useTab(isNew, kind !== undefined, object !== undefined, changes !== undefined);
  const isForm = kind !== undefined && tab.shown === "form";
  // The form shows at its fields what is wrong with them.
  const listed = isForm ? issues.filter((issue) => !isOnForm(kind, issue.pointer)) : issues;
  const onTyped = (typed: string) => setDraft({ text: typed, over: draft?.over ?? begin });
  const onDone = () => {
    if (isNew) {
      const made = documentOf(text)?.toJS() as Manifest;
      history.replace(configurationAddress(made.kind, keyOf(made)));
    }
    setDraft(null);
    setApplying(false);
  };
  const isSame = checked?.results.every((result) => result.outcome === "unchanged") ?? false;
  const code = (
    <CodeEditor ref={area} label="Manifests" hint="One or more YAML documents, separated by ---" readOnly={refusal !== undefined} issues={issues} value={text} onChange={onTyped} />
  );
  const choices = [
    ...(kind === undefined ? [] : [{ key: "form", label: "Form", content: <FormOf kind={kind} text={text} exists={!isNew} readOnly={refusal !== undefined} issues={issues} onChange={onTyped} /> }]),
    { key: "manifest", label: "YAML", content: code },
    ...(object === undefined ? [] : [{ key: "uses", label: usesLabel(uses.data), content: <Uses {...object} query={uses} /> }]),
    ...(changes === undefined ? [] : [{ key: "history", label: "History", content: changes }]),
  ];
  return (
    <div className={styles.stack}>
      <Card title={title} padded>
        <div className={styles.form}>
          {draft !== null && draft.over !== begin && <ChangedMeanwhile draft={draft} now={begin} onCarried={(text) => setDraft({ text, over: begin })} />}
          {choices.length === 1 ? code : <Choices label="Show as" value={tab.shown} onChange={tab.show} choices={choices} />}
          {(tab.shown === "form" || tab.shown === "manifest") && (
            <Checked
              words={refusal ?? statusWords(isUntouched ? "" : text, checked && outcomeWords(checked), isChecking)}
              refusal={refusal ?? applyRefusal(isUntouched ? "" : text, isBroken, checked === undefined, isSame)}
              isChanged={draft !== null}
              onPreview={() => setApplying(true)}
              onDiscard={() => setDraft(null)}
            />
          )}
        </div>
      </Card>
      {listed.length > 0 && <Issues issues={listed} onLine={isForm ? undefined : (line) => area.current?.select(line)} />}
      {applying && <ApplyDialog documents={text} over={isNew ? "" : (draft?.over ?? begin)} onClose={() => setApplying(false)} onDone={onDone} />}
    </div>
  );
}

function usesLabel(found: References | undefined): string {
  return found === undefined ? "Used by" : `Used by ${(found.objectCount + found.workloadCount).toLocaleString("en")}`;
}

interface CheckedProps {
  words: string;
  refusal: string | undefined;
  isChanged: boolean;
  onPreview: () => void;
  onDiscard: () => void;
}

/** What a dry run found, and what can be done with the text. */
function Checked({ words, ...actions }: CheckedProps) {
  return (
    <>
      <p role="status" className={styles.quiet}>
        {words}
      </p>
      <Actions {...actions} />
    </>
  );
}

function Actions({ refusal, isChanged, onPreview, onDiscard }: Omit<CheckedProps, "words">) {
  return (
    <div className={styles.actions}>
      <Button look="primary" refusal={refusal} onClick={onPreview}>
        <FlaskConical aria-hidden="true" />
        Preview changes
      </Button>
      {isChanged && (
        <Button onClick={onDiscard}>
          <RotateCcw aria-hidden="true" />
          Discard changes
        </Button>
      )}
    </div>
  );
}

/** The tab in the address; without one, a form for a new object and on a phone. */
function useTab(isNew: boolean, hasForm: boolean, hasUses: boolean, hasChanges: boolean) {
  const tabs = [...(hasForm ? ["form"] : []), "manifest", ...(hasUses ? ["uses"] : []), ...(hasChanges ? ["history"] : [])];
  const url = useUrl();
  const [isPhone] = useState(() => window.matchMedia(PHONE).matches);
  const usual = (isNew || isPhone) && tabs.includes("form") ? "form" : "manifest";
  const asked = url.get("tab");
  return {
    shown: tabs.includes(asked) ? asked : usual,
    show: (tab: string) => url.change({ tab }, "replace"),
  };
}

function FormOf(props: { kind: string; text: string; exists: boolean; readOnly: boolean; issues: Issue[]; onChange: (text: string) => void }) {
  if (formKindOf(props.text) === props.kind) return <ConfigurationForm {...props} />;
  return <Empty title={`The YAML is not one ${props.kind}`}>Correct the YAML, or discard the changes, to see the form.</Empty>;
}

/** A concurrent change: the user's changes are merged with it where they do not conflict. */
function ChangedMeanwhile({ draft, now, onCarried }: { draft: Draft; now: string; onCarried: (text: string) => void }) {
  const carried = useMemo(() => threeWayMerge(draft.over, draft.text, now), [draft, now]);
  return (
    <PartialNote>
      The object changed on the server. Applying will be refused.{" "}
      {carried === undefined ? "Conflict: the same lines changed on the server. Reload to continue." : <Button onClick={() => onCarried(carried)}>Rebase my changes</Button>}
    </PartialNote>
  );
}

/** What a dry run of the text finds, once nothing has been typed for a moment. */
function useChecked(text: string, mayAsk: boolean) {
  const settled = useSettled(text);
  const check = useQuery(checkQuery(settled, mayAsk));
  const isSettled = settled === text;
  const checked = isSettled ? check.data : undefined;
  const refused = isSettled && check.isError ? issuesOfProblem(text, problemOf(check.error)) : [];
  return { checked, issues: checked ? issuesOf(text, checked) : refused, isChecking: check.isFetching || !isSettled };
}

/** The text once nothing has been typed for a moment. */
function useSettled(text: string): string {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), PAUSE);
    return () => clearTimeout(timer);
  }, [text]);
  return useDeferredValue(settled);
}

function statusWords(text: string, found: string | undefined, isChecking: boolean): string {
  if (text.trim() === "") return "No changes";
  if (isChecking) return "Checking…";
  return found === undefined ? "Invalid YAML" : `Checked: ${found}.`;
}

function applyRefusal(text: string, isBroken: boolean, isUnchecked: boolean, isSame: boolean): string | undefined {
  if (text.trim() === "") return "Nothing to apply";
  if (isBroken) return "Fix the errors first";
  if (isUnchecked) return "Checking…";
  return isSame ? "No changes to apply" : undefined;
}
