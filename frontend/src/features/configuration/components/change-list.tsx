// Changes of the configuration, of all objects or of one, with actor, time and difference, and rolling back.
import { useInfiniteQuery } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { Undo2 } from "lucide-react";
import { useState } from "react";

import { Button } from "@/components/ui/button";
import { Card, Page } from "@/components/ui/layout";
import { RouterLink } from "@/components/ui/router-link";
import { Timestamp } from "@/components/ui/timestamp";
import { Empty, Failed, Skeleton, StaleNote } from "@/components/ui/states";
import type { Revision } from "@/lib/api/types";
import { changesAddress } from "@/lib/events";
import { useIdentity } from "@/lib/hooks/use-session";
import { useUrl } from "@/lib/hooks/use-url";
import { refusalFor } from "@/lib/permissions";

import { revisionsQuery } from "../api/history";
import { actorWords, placeWords, valueDocument, valueWords, wholeWords } from "../model/revisions";
import styles from "./change-list.module.css";
import { RevertDialog } from "./revert-dialog";

/** The changes of all objects, or of those that the address names. */
export function ChangesPage({ stream = "" }: { stream?: string }) {
  const { history } = useRouter();
  const url = useUrl();
  const kind = stream === "" ? url.get("kind") : "";
  return (
    <Page
      title="All changes"
      over={<RouterLink to="/configuration">Configuration</RouterLink>}
      actions={(stream || kind) && <Button onClick={() => history.push("/configuration?view=changes")}>Show all objects, not only {stream || kind}</Button>}
    >
      <ChangeList kind={kind} stream={stream} onOnly={stream === "" ? (only) => history.push(changesAddress(only)) : undefined} />
    </Page>
  );
}

interface ChangeListProps {
  kind?: string;
  stream: string;
  /** Shows the changes of one object alone; absent where they are. */
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
      {list.hasNextPage && <Button onClick={() => void list.fetchNextPage()}>Show earlier changes</Button>}
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
    <li className={styles.row}>
      <span className={styles.aside} title={`Position ${revision.position}`}>
        <Timestamp at={revision.at} />
      </span>
      {onOnly === undefined ? (
        <strong className={styles.object}>
          {revision.kind} {revision.name}
        </strong>
      ) : (
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
