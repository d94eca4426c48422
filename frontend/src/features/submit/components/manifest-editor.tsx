// The manifest as a text, beside the form: what changes in one changes in the other, and problems stand at their lines.
import { Suspense, lazy, useMemo, useRef, useState } from "react";

import type { CodeEditorHandle, CodeIssue } from "@/components/ui/code-editor";
import { Skeleton } from "@/components/ui/states";
import type { Violation } from "@/lib/api/problem";
import { useHotkeys } from "@/lib/hooks/use-hotkeys";
import { NARROW } from "@/lib/hooks/use-media";
import { lineOfPointer } from "@/lib/manifests/pointers";

import styles from "./submit.module.css";

const CodeEditor = lazy(async () => ({ default: (await import("@/components/ui/code-editor")).CodeEditor }));

export interface ManifestEditorProps {
  text: string;
  /** What keeps the text from being read. */
  fault: { message: string; line: number | undefined } | undefined;
  errors: Violation[];
  onChange: (text: string) => void;
}

export function ManifestEditor({ text, fault, errors, onChange }: ManifestEditorProps) {
  // On a phone the form and the forecast come first.
  const [isShown, setShown] = useState(() => !window.matchMedia(NARROW).matches);
  const editor = useRef<CodeEditorHandle>(null);
  const issues = useMemo((): CodeIssue[] => {
    if (fault !== undefined) return [{ severity: "error", line: fault.line, message: fault.message, remedy: "" }];
    return errors.map(({ pointer, rule, remedy }) => ({ severity: "error", line: lineOfPointer(text, pointer), message: rule, remedy }));
  }, [text, fault, errors]);
  useHotkeys({
    "Alt+m": () => {
      setShown(!isShown);
      if (!isShown) requestAnimationFrame(() => editor.current?.select(1));
    },
  });
  return (
    <details open={isShown} onToggle={({ currentTarget }) => setShown(currentTarget.open)}>
      <summary className={styles.manifest}>
        Manifest (YAML) <kbd>Alt M</kbd>
      </summary>
      {isShown && (
        <Suspense fallback={<Skeleton rows={10} />}>
          <CodeEditor ref={editor} label="Manifest" hint="The manifest of a Workload" compact value={text} issues={issues} onChange={onChange} />
        </Suspense>
      )}
      {isShown && issues.length > 0 && (
        <ul className={styles.issues} aria-label="Problems of the manifest">
          {issues.map(({ line, message, remedy }) => (
            <li key={`${line ?? ""} ${message}`}>
              {line !== undefined && (
                <button type="button" onClick={() => editor.current?.select(line)}>
                  Line {line}
                </button>
              )}{" "}
              {[message, remedy].filter(Boolean).join(" ")}
            </li>
          ))}
        </ul>
      )}
    </details>
  );
}
