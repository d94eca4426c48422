// Alerts by cause: what, how many, what it costs, since when; each opens to its objects and can be acknowledged.
import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";

import { Button } from "@/components/ui/button";
import { SelectField } from "@/components/ui/fields";
import { ListFrame } from "@/components/ui/layout";
import { Empty } from "@/components/ui/states";
import { Timestamp } from "@/components/ui/timestamp";
import { causesQuery } from "@/lib/api/attention";
import type { Cause, Phase } from "@/lib/api/types";
import { useUrl } from "@/lib/hooks/use-url";

import { closedCausesQuery } from "../api/alerts";
import { CAUSE_STATES, type CauseState, SEVERITY_CHOICES, STUCK_PHASES, countsByState, shownSeverity, shownState } from "../model/causes";
import type { BulkActionVerb } from "../model/stuck-workloads";
import { AcknowledgeDialog, type AskedAcknowledgment } from "./acknowledge-dialog";
import { AlertRows } from "./alert-rows";
import styles from "./cause-list.module.css";
import { CauseRow } from "./cause-row";
import { ClosedCauses, LastClosed } from "./closed-causes";

export interface CauseListProps {
  causes: Cause[];
  /** When the server looked. */
  at: string;
  /** Asks for an action on all stuck workloads of a phase. */
  onAll: (action: BulkActionVerb, phase: Phase) => void;
  /** The stuck workloads of an opened cause. */
  stuck: (phase: Phase) => ReactNode;
}

/** What the list of causes is narrowed to, as the address says. */
function useShown(causes: Cause[]) {
  const url = useUrl();
  return { state: shownState(url.get("state"), url.get("alert"), causes), severity: shownSeverity(url.get("severity")) };
}

/** Which causes are listed: by state, with the number in each, and by severity where the menu does not have that. */
export function CauseFilters({ hasSeverity }: { hasSeverity: boolean }) {
  const url = useUrl();
  const causes = useQuery(causesQuery).data?.causes ?? [];
  const closed = useQuery(closedCausesQuery).data?.causes.length ?? 0;
  const { state, severity } = useShown(causes);
  return (
    <div className={styles.states}>
      <StateBar counts={countsByState(causes, closed)} shown={state} onChange={(next) => url.change({ state: next, alert: "" }, "replace")} />
      {hasSeverity && <SelectField label="Severity" options={SEVERITY_CHOICES} value={severity} onChange={(event) => url.change({ severity: event.target.value }, "replace")} />}
    </div>
  );
}

export function CauseList({ causes, at, onAll, stuck }: CauseListProps) {
  const url = useUrl();
  const [asked, setAsked] = useState<AskedAcknowledgment | null>(null);
  const opened = url.get("alert");
  const { state, severity } = useShown(causes);
  const shown = causes.filter((cause) => cause.state === state && (severity === "" || cause.severity === severity));
  return (
    <>
      {state === "Closed" ? (
        <ClosedCauses severity={severity} />
      ) : shown.length === 0 ? (
        <ListFrame>
          <Nothing state={state} severity={severity} at={at} />
        </ListFrame>
      ) : (
        <AlertRows
          label="Alerts by cause"
          alerts={shown}
          keyOf={({ key }) => key}
          asked={`${state} ${severity}`}
          at={Date.parse(at)}
          row={(cause) => (
            <CauseRow
              key={cause.key}
              cause={cause}
              open={cause.key === opened}
              onToggle={() => url.change({ alert: cause.key === opened ? "" : cause.key }, "replace")}
              onAsked={setAsked}
              onAll={onAll}
            >
              {phaseOf(cause) && stuck(phaseOf(cause) as Phase)}
            </CauseRow>
          )}
        />
      )}
      {asked !== null && <AcknowledgeDialog {...asked} onClose={() => setAsked(null)} />}
    </>
  );
}

function phaseOf({ kind }: Cause): Phase | undefined {
  return STUCK_PHASES[kind];
}

function Nothing({ state, severity, at }: { state: CauseState; severity: string; at: string }) {
  if (severity !== "") return <Empty title={`No ${state.toLowerCase()} alerts of this severity`} />;
  if (state !== "Open") return <Empty title={state === "Snoozed" ? "Nothing is snoozed" : "Nothing is acknowledged"} />;
  return (
    <Empty title="Nothing needs attention">
      <p>
        <LastClosed /> Last checked <Timestamp at={at} />.
      </p>
    </Empty>
  );
}

function StateBar({ counts, shown, onChange }: { counts: Record<CauseState, number>; shown: CauseState; onChange: (state: CauseState) => void }) {
  return (
    <div className={styles.stateButtons} role="group" aria-label="Show alerts by state">
      {CAUSE_STATES.map((state) => (
        <Button key={state} aria-pressed={state === shown} onClick={() => onChange(state)}>
          {state} <span className="number">{counts[state]}</span>
        </Button>
      ))}
    </div>
  );
}
