// Changes of the configuration in rows: time, object, fields, actor and reason, and rolling back.
import { useInfiniteQuery } from "@tanstack/react-query";
import { Undo2 } from "lucide-react";
import { useState } from "react";

import { revisionsQuery } from "@/lib/api/history";
import { nextPage } from "@/lib/api/next-page";
import type { Revision } from "@/lib/api/types";
import { useIdentity } from "@/lib/hooks/use-session";
import { refusalFor } from "@/lib/permissions";
import { actorWords, placeWords, valueDocument, valueWords, wholeWords } from "@/lib/revisions";

import { Button } from "./button";
import styles from "./change-list.module.css";
import { Card } from "./layout";
import { RevertDialog } from "./revert-dialog";
import { Empty, Failed, Skeleton, StaleNote } from "./states";
import { Timestamp } from "./timestamp";

export interface ChangeListProps {
  /** Of one kind or of one object; of all where both are empty. */
  kind?: string;
  stream: string;
  /** Narrows the list to one object; without it all rows are of one and do not name it. */
  onOnly?: ((stream: string) => void) | undefined;
}

export function ChangeList({ kind = "", stream, onOnly }: ChangeListProps) {
  const [chosen, setChosen] = useState<Revision | null>(null);
  const list = useInfiniteQuery(revisionsQuery(kind, stream));
  const revisions = list.data?.pages.flatMap((page) => page.items) ?? [];
  return (
    <>
      {list.data !== undefined && list.isError && <StaleNote error={list.error} onRetry={() => void list.refetch()} />}
      {list.data === undefined ? (
        list.isError ? (
          <Failed error={list.error} onRetry={() => void list.refetch()} />
        ) : (
          <Skeleton rows={6} />
        )
      ) : revisions.length === 0 ? (
        <Empty title="No changes yet">
          <p>Apply queues, flavors and nodes. Every change of them is kept here.</p>
        </Empty>
      ) : (
        <Card>
          <ol className={styles.list} aria-label="Changes, newest first">
            {revisions.map((revision) => (
              <RevisionRow key={revision.position} revision={revision} onRevert={() => setChosen(revision)} onOnly={onOnly && (() => onOnly(revision.stream))} />
            ))}
          </ol>
        </Card>
      )}
      {list.hasNextPage && <Button onClick={() => void nextPage(list, ({ pages }) => pages.length)}>Show earlier changes</Button>}
      {chosen !== null && <RevertDialog revision={chosen} onClose={() => setChosen(null)} />}
    </>
  );
}

function DifferenceLine({ difference }: { difference: Revision["differences"][number] }) {
  const { before, after } = difference;
  const whole = wholeWords(difference);
  return (
    <div>
      {whole === undefined && <dt className="mono">{placeWords(difference)}</dt>}
      <dd>
        {whole === undefined ? (
          <>
            <Side as="del" value={before} /> <Side as="ins" value={after} />
          </>
        ) : (
          <details>
            <summary>{whole}</summary>
            <Side as={whole === "Deleted" ? "del" : "ins"} value={whole === "Deleted" ? before : after} />
          </details>
        )}
      </dd>
    </div>
  );
}

/** One side of a difference: a word, or a document on lines of its own. */
function Side({ as: Mark, value }: { as: "del" | "ins"; value: unknown }) {
  const document = valueDocument(value);
  return <Mark className={document === undefined ? undefined : styles.document}>{document ?? valueWords(value)}</Mark>;
}

/** Differences in the row where they are one or two words, else behind what they are called. */
function Differences({ differences }: { differences: Revision["differences"] }) {
  const lines = (
    <dl className={styles.differences}>
      {differences.map((difference) => (
        <DifferenceLine key={difference.path} difference={difference} />
      ))}
    </dl>
  );
  if (differences.length === 0) return <span className={styles.aside}>No spec changes</span>;
  if (differences.length === 1) return lines;
  return (
    <details>
      <summary>{differences.length} fields</summary>
      {lines}
    </details>
  );
}

function RevisionRow({ revision, onRevert, onOnly }: { revision: Revision; onRevert: () => void; onOnly: (() => void) | undefined }) {
  const refusal = refusalFor(useIdentity(), { on: "queue" });
  return (
    <li className={styles.row} data-one={onOnly === undefined || undefined}>
      <span className={styles.aside} title={`Position ${revision.position}`}>
        <Timestamp at={revision.at} />
      </span>
      {onOnly && (
        <Button look="quiet" className={styles.object} hint="Show changes of this object only" onClick={onOnly}>
          {revision.kind} {revision.name}
        </Button>
      )}
      <div className={styles.changes}>
        <Differences differences={revision.differences} />
      </div>
      <span className={styles.aside}>
        {actorWords(revision.actor)}
        {revision.reason && <q className={styles.reason}>{revision.reason}</q>}
      </span>
      {/* What a node reports is no one's decision: there is nothing to roll back. */}
      {revision.kind !== "Node" && (
        <Button look="quiet" refusal={refusal} hint="Roll back to this revision" onClick={onRevert}>
          <Undo2 aria-hidden="true" />
          Roll back
        </Button>
      )}
      {revision.kind === "Node" && <span />}
    </li>
  );
}
