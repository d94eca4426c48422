// Violations and lint warnings, each with a link to its line.
import { Info, OctagonAlert, TriangleAlert } from "lucide-react";

import { Button } from "@/components/ui/button";
import { Card } from "@/components/ui/layout";
import { withRemedy } from "@/lib/api/problem";

import type { Issue } from "../model/documents";
import styles from "./configuration.module.css";

const ICONS = { error: OctagonAlert, warning: TriangleAlert, note: Info };
const WORDS = { error: "Error", warning: "Warning", note: "Info" };

export function Issues({ issues, onLine }: { issues: Issue[]; onLine: (line: number) => void }) {
  return (
    <Card title="Problems" aside={`${issues.length}`} padded>
      <ul className={styles.issues}>
        {issues.map((issue) => (
          <li key={issue.subject + issue.pointer + issue.message} className={`${styles.issue ?? ""} ${styles[issue.severity] ?? ""}`}>
            <OneIssue issue={issue} onLine={onLine} />
          </li>
        ))}
      </ul>
    </Card>
  );
}

function OneIssue({ issue, onLine }: { issue: Issue; onLine: (line: number) => void }) {
  const { line, pointer, subject } = issue;
  const Icon = ICONS[issue.severity];
  return (
    <>
      <Icon aria-hidden="true" />
      <strong>{WORDS[issue.severity]}</strong>
      {line !== undefined && <Button look="quiet" onClick={() => onLine(line)}>{`Line ${line}`}</Button>}
      <code>{[subject, pointer].filter(Boolean).join(" ")}</code>
      <span className={styles.words}>{withRemedy(issue.message, issue.remedy)}</span>
    </>
  );
}
