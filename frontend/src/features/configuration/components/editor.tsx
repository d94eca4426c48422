// An editor for manifests with issues at their lines, preview and apply.
import { useQuery } from "@tanstack/react-query";
import { FlaskConical, RotateCcw } from "lucide-react";
import { type ReactNode, useDeferredValue, useEffect, useMemo, useRef, useState } from "react";

import { Button } from "@/components/ui/button";
import { Card } from "@/components/ui/layout";
import { PartialNote } from "@/components/ui/states";
import { problemOf } from "@/lib/api/problem";
import { useIdentity } from "@/lib/hooks/use-session";
import { refusalFor } from "@/lib/permissions";

import { checkQuery } from "../api/objects";
import { threeWayMerge } from "../model/three-way-merge";
import { issuesOf, issuesOfProblem, outcomeWords } from "../model/documents";
import { ApplyDialog } from "./apply-dialog";
import { CodeEditor, type CodeEditorHandle } from "./code-editor";
import styles from "./configuration.module.css";
import { Issues } from "./issues";

const PAUSE = 400;

interface Draft {
  text: string;
  /** What it was typed over. */
  over: string;
}

export function Editor({ title, begin, aside }: { title: string; begin: string; aside?: ReactNode }) {
  const refusal = refusalFor(useIdentity(), { on: "queue" });
  // As long as nothing is typed, it shows what is configured now; then what it was typed over is kept in mind.
  const [draft, setDraft] = useState<Draft | null>(null);
  const [applying, setApplying] = useState(false);
  const area = useRef<CodeEditorHandle>(null);
  const text = draft?.text ?? begin;
  const { checked, issues, isChecking } = useChecked(text, refusal === undefined);
  const isBroken = issues.some((issue) => issue.severity === "error");
  const onDone = () => {
    setDraft(null);
    setApplying(false);
  };
  const isSame = checked?.results.every((result) => result.outcome === "unchanged") ?? false;
  return (
    <div className={styles.stack}>
      <Card title={title} aside={aside} padded>
        <div className={styles.form}>
          {draft !== null && draft.over !== begin && <ChangedMeanwhile draft={draft} now={begin} onCarried={(text) => setDraft({ text, over: begin })} />}
          <CodeEditor
            ref={area}
            label="Manifests"
            hint="One or more YAML documents, separated by ---"
            readOnly={refusal !== undefined}
            issues={issues}
            value={text}
            onChange={(typed) => setDraft({ text: typed, over: draft?.over ?? begin })}
          />
          <p role="status" className={styles.quiet}>
            {refusal ?? statusWords(text, checked && outcomeWords(checked), isChecking)}
          </p>
          <div className={styles.actions}>
            <Button look="primary" refusal={refusal ?? applyRefusal(text, isBroken, checked === undefined, isSame)} onClick={() => setApplying(true)}>
              <FlaskConical aria-hidden="true" />
              Preview changes
            </Button>
            {draft !== null && (
              <Button onClick={() => setDraft(null)}>
                <RotateCcw aria-hidden="true" />
                Discard changes
              </Button>
            )}
          </div>
        </div>
      </Card>
      {issues.length > 0 && <Issues issues={issues} onLine={(line) => area.current?.select(line)} />}
      {applying && (
        <ApplyDialog documents={text} over={draft?.over ?? begin} onClose={() => setApplying(false)} onDone={onDone} />
      )}
    </div>
  );
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
  if (text.trim() === "") return "Enter a manifest";
  if (isBroken) return "Fix the errors first";
  if (isUnchecked) return "Checking…";
  return isSame ? "No changes to apply" : undefined;
}
