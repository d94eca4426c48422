// One event in full: actor, reason, cause, correlation and payload.
import { Subject } from "@/components/ui/event-line";
import { CodeBlock } from "@/components/ui/code-block";
import { RouterLink } from "@/components/ui/router-link";
import { SidePanel } from "@/components/ui/side-panel";
import type { Fact } from "@/lib/api/types";
import { typeWords } from "@/lib/events";
import { formatAbsolute } from "@/lib/format/times";

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
        {fact.causation && (
          <>
            <dt>Causation ID</dt>
            <dd className="mono">{fact.causation}</dd>
          </>
        )}
        {fact.correlation && (
          <>
            <dt>Correlation ID</dt>
            <dd className="mono">
              <RouterLink to={`/events?correlation=${encodeURIComponent(fact.correlation)}`}>{fact.correlation}</RouterLink>
              {fact.causation?.startsWith("batch:") && (
                <>
                  {" "}
                  (<RouterLink to={`/attention?batch=${encodeURIComponent(fact.correlation)}`}>View bulk action / undo</RouterLink>)
                </>
              )}
            </dd>
          </>
        )}
      </dl>
      <CodeBlock label="event" text={JSON.stringify(fact.data, null, 2)} />
    </SidePanel>
  );
}
