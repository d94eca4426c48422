// Violations and lint warnings, each with a link to its line.
import { Info, OctagonAlert, TriangleAlert } from "lucide-react";

import { Button } from "@/components/ui/button";
import { Card } from "@/components/ui/layout";
import { withRemedy } from "@/lib/api/problem";

import type { Issue } from "../model/documents";
import styles from "./configuration.module.css";

const ICONS = { error: OctagonAlert, warning: TriangleAlert, note: Info };
const WORDS = { error: "Error", warning: "Warning", note: "Info" };

export interface IssuesProps {
  issues: Issue[];
  /** Goes to a line; absent where no text is shown. */
  onLine: ((line: number) => void) | undefined;
}

export function Issues({ issues, onLine }: IssuesProps) {
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

function OneIssue({ issue, onLine }: { issue: Issue; onLine: IssuesProps["onLine"] }) {
  const { line, pointer, subject } = issue;
  const Icon = ICONS[issue.severity];
  return (
    <>
      <Icon aria-hidden="true" />
      <strong>{WORDS[issue.severity]}</strong>
      {line !== undefined && onLine !== undefined && <Button look="quiet" onClick={() => onLine(line)}>{`Line ${line}`}</Button>}
      <code>{[subject, pointer].filter(Boolean).join(" ")}</code>
      <span className={styles.words}>{withRemedy(issue.message, issue.remedy)}</span>
    </>
  );
}

/** An issue beside the field that it is about. */
export function IssueWords({ issue }: { issue: Issue }) {
  const Icon = ICONS[issue.severity];
  return (
    <p className={styles.beside} data-severity={issue.severity}>
      <Icon aria-hidden="true" />
      <strong>{WORDS[issue.severity]}</strong> <span>{withRemedy(issue.message, issue.remedy)}</span>
    </p>
  );
}
