// The states a view can be in besides showing everything: loading, empty, partial, failed, stale.
import { CloudOff, Info, OctagonAlert, Sprout } from "lucide-react";
import type { ReactNode } from "react";

import { type Problem, problemOf, withRemedy } from "@/lib/api/problem";
import { shownMoment } from "@/lib/past";

import { Button } from "./button";
import styles from "./states.module.css";

const NOT_FOUND = 404;
const NOT_THERE_THEN = "Not found at this time. It may have been created later.";

export function Skeleton({ rows = 6 }: { rows?: number }) {
  return (
    <div className={styles.skeleton} role="status" aria-label="Loading">
      {Array.from({ length: rows }, (_, row) => (
        <div key={row} className={styles.bone} />
      ))}
    </div>
  );
}

export function Empty({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className={styles.state}>
      <Sprout aria-hidden="true" />
      <strong>{title}</strong>
      {children}
    </div>
  );
}

/** A link to manifests and scripts to begin with, in the documentation that ships with the page. */
export function ExamplesLink() {
  return (
    <a href="/help/examples.html" target="_blank" rel="noopener">
      examples
    </a>
  );
}

export function Failed({ error, onRetry }: { error: unknown; onRetry?: () => void }) {
  const problem = problemOf(error);
  return (
    <div className={`${styles.state ?? ""} ${styles.failed ?? ""}`} role="alert">
      <OctagonAlert aria-hidden="true" />
      <strong>{problem.title}</strong>
      <ProblemWords problem={problem} />
      {problem.status === NOT_FOUND && shownMoment() !== "" && <p>{NOT_THERE_THEN}</p>}
      {onRetry && <Button onClick={onRetry}>Try again</Button>}
    </div>
  );
}

/** The detail, remedy and broken rules of a problem. */
export function ProblemWords({ problem }: { problem: Problem }) {
  return (
    <>
      <p>{problem.detail}</p>
      {problem.remedy && <p>{problem.remedy}</p>}
      {problem.errors && problem.errors.length > 0 && (
        <ul className={styles.violations}>
          {problem.errors.map((violation) => (
            <li key={violation.pointer + violation.rule}>
              <code>{violation.pointer}</code> {withRemedy(violation.rule, violation.remedy)}
            </li>
          ))}
        </ul>
      )}
      {problem.requestId && <span className={styles.request}>Request {problem.requestId}</span>}
    </>
  );
}

export function StaleNote({ error, onRetry }: { error: unknown; onRetry: () => void }) {
  return (
    <div className={styles.note} role="status">
      <CloudOff aria-hidden="true" />
      <span>Showing the last known data; the update failed: {problemOf(error).title.toLowerCase()}.</span>
      <Button look="quiet" onClick={onRetry}>
        Try again
      </Button>
    </div>
  );
}

export function PartialNote({ children }: { children: ReactNode }) {
  return (
    <div className={styles.note} role="status">
      <Info aria-hidden="true" />
      <span>{children}</span>
    </div>
  );
}
