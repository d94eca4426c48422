// One event in full: actor, reason, cause, effects and payload.
import { useQuery } from "@tanstack/react-query";
import { History } from "lucide-react";

import { Button } from "@/components/ui/button";
import { EventLine, Subject } from "@/components/ui/event-line";
import { CodeBlock } from "@/components/ui/code-block";
import { RouterLink } from "@/components/ui/router-link";
import { SidePanel } from "@/components/ui/side-panel";
import type { Fact } from "@/lib/api/types";
import { typeWords } from "@/lib/events";
import { formatAbsolute } from "@/lib/format/times";
import { showMoment } from "@/lib/past";

import { sameCauseQuery, sinceQuery } from "../api/events";
import { after, correlationWords } from "../model/groups";

import styles from "./events-page.module.css";

export function EventPanel({ fact, onClose }: { fact: Fact; onClose: () => void }) {
  return (
    <SidePanel title={`${typeWords(fact.type)} #${fact.position}`} label={`Event ${fact.position}`} onClose={onClose}>
      <dl className={styles.facts}>
        <dt>Object</dt>
        <dd>
          <Subject stream={fact.stream} /> (version {fact.version} of {fact.stream})
        </dd>
        <dt>Type</dt>
        <dd className="mono">{fact.type}</dd>
        <dt>Time</dt>
        <dd>{formatAbsolute(fact.at)}</dd>
        <dt>Actor</dt>
        <dd>{fact.actor}</dd>
        {fact.reason && (
          <>
            <dt>Reason</dt>
            <dd>{fact.reason}</dd>
          </>
        )}
        <dt>Cause</dt>
        <dd>
          <Cause fact={fact} />
        </dd>
      </dl>
      <div>
        <Button onClick={() => showMoment(String(fact.position))}>
          <History aria-hidden="true" />
          View at this time
        </Button>
      </div>
      <Effects fact={fact} />
      <h3>Payload</h3>
      <CodeBlock label="event" text={JSON.stringify(fact.data, null, 2)} />
    </SidePanel>
  );
}

/** What the event belongs to: the cycle or the request that wrote it, with all that it wrote. */
function Cause({ fact }: { fact: Fact }) {
  const { correlation = "", causation = "", actor } = fact;
  if (correlation === "") return "—";
  const isBatch = causation.startsWith("batch:");
  const isCycle = actor === "scheduler" && !isBatch;
  return (
    <>
      {isCycle ? <RouterLink to={`/cycles/${encodeURIComponent(correlation)}`}>Scheduling cycle</RouterLink> : isBatch ? <RouterLink to={`/attention?batch=${encodeURIComponent(correlation)}`}>View bulk action / undo</RouterLink> : correlationWords(fact)}
      {", "}
      <RouterLink to={`/events?correlation=${encodeURIComponent(correlation)}`}>all events of it</RouterLink>
      <div className={`mono ${styles.id ?? ""}`}>{correlation}</div>
    </>
  );
}

const MAX_EFFECTS = 5;

/** What the same cycle or request wrote after it, and what happened to the object next. */
function Effects({ fact }: { fact: Fact }) {
  const sameCause = useQuery(sameCauseQuery(fact.correlation ?? "")).data?.items ?? [];
  const later = useQuery(sinceQuery(fact)).data;
  const together = after(fact, sameCause, MAX_EFFECTS);
  // With more than one page, the first of them are not known.
  const next = later === undefined || later.next ? [] : after(fact, later.items, MAX_EFFECTS).filter(({ position }) => !together.some((one) => one.position === position));
  const isNone = together.length + next.length === 0 && later !== undefined && !later.next;
  return (
    <section aria-label="Effects" className={styles.effects}>
      <h3>Effects</h3>
      {isNone && <p className={styles.soft}>None yet</p>}
      {together.length > 0 && <Effect title={fact.actor === "scheduler" ? "Of the same cycle" : "Of the same request"} facts={together} />}
      {next.length > 0 && <Effect title="Next on this object" facts={next} />}
      {later?.next && (
        <RouterLink to={`/events?stream=${encodeURIComponent(fact.stream)}`}>All events of this object</RouterLink>
      )}
    </section>
  );
}

function Effect({ title, facts }: { title: string; facts: Fact[] }) {
  return (
    <>
      <h4>{title}</h4>
      <ol>
        {facts.map((fact) => (
          <EventLine key={fact.position} fact={fact} />
        ))}
      </ol>
    </>
  );
}
