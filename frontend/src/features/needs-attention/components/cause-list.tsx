// Alerts by cause: what, how many, what it costs, since when; each opens to its objects and can be acknowledged.
import { useQueryClient } from "@tanstack/react-query";
import { ChevronDown, ChevronRight, CircleAlert, Info, OctagonAlert } from "lucide-react";
import { type KeyboardEvent, useState } from "react";

import { Button } from "@/components/ui/button";
import { SelectField } from "@/components/ui/fields";
import { announce } from "@/components/ui/notices";
import { RouterLink } from "@/components/ui/router-link";
import { Empty } from "@/components/ui/states";
import { Timestamp } from "@/components/ui/timestamp";
import { problemOf } from "@/lib/api/problem";
import type { Cause } from "@/lib/api/types";
import { gpuHours } from "@/lib/format/amounts";
import { formatAbsolute } from "@/lib/format/times";
import { useIdentity } from "@/lib/hooks/use-session";
import { useUrl } from "@/lib/hooks/use-url";
import { refusalFor } from "@/lib/permissions";

import { reopen } from "../api/alerts";
import { CAUSE_STATES, type CauseState, countsByState, shownState } from "../model/causes";
import { AcknowledgeDialog, type AskedAcknowledgment } from "./acknowledge-dialog";
import styles from "./cause-list.module.css";

const SEVERITIES = {
  critical: { icon: OctagonAlert, words: "Critical" },
  warning: { icon: CircleAlert, words: "Warning" },
  info: { icon: Info, words: "Note" },
};

const SEVERITY_CHOICES = [
  { value: "", words: "all" },
  { value: "critical", words: "critical" },
  { value: "warning", words: "warning" },
  { value: "info", words: "note" },
] as const;

export function CauseList({ causes }: { causes: Cause[] }) {
  const url = useUrl();
  const [asked, setAsked] = useState<AskedAcknowledgment | null>(null);
  const opened = url.get("alert");
  const state = shownState(url.get("state"), opened, causes);
  const severity = SEVERITY_CHOICES.find(({ value }) => value === url.get("severity"))?.value ?? "";
  const shown = causes.filter((cause) => cause.state === state && (severity === "" || cause.severity === severity));
  return (
    <>
      <div className={styles.states}>
        <StateBar counts={countsByState(causes)} shown={state} onChange={(next) => url.change({ state: next, alert: "" }, "replace")} />
        <SelectField label="Severity" options={SEVERITY_CHOICES} value={severity} onChange={(event) => url.change({ severity: event.target.value }, "replace")} />
      </div>
      {shown.length === 0 ? (
        <Nothing state={state} severity={severity} />
      ) : (
        <ul className={styles.causes} aria-label="Alerts by cause">
          {shown.map((cause) => (
            <CauseRow
              key={cause.key}
              cause={cause}
              open={cause.key === opened}
              onToggle={() => url.change({ alert: cause.key === opened ? "" : cause.key }, "replace")}
              onAsked={setAsked}
            />
          ))}
        </ul>
      )}
      {asked !== null && <AcknowledgeDialog {...asked} onClose={() => setAsked(null)} />}
    </>
  );
}

function Nothing({ state, severity }: { state: CauseState; severity: string }) {
  if (severity !== "") return <Empty title={`No ${state.toLowerCase()} alerts of this severity`} />;
  if (state !== "Open") return <Empty title={state === "Snoozed" ? "Nothing is snoozed" : "Nothing is acknowledged"} />;
  return <Empty title="Nothing needs attention">Stopped queues, failed workloads and absent executors appear here.</Empty>;
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

interface CauseRowProps {
  cause: Cause;
  open: boolean;
  onToggle: () => void;
  onAsked: (asked: AskedAcknowledgment) => void;
}

function CauseRow({ cause, open, onToggle, onAsked }: CauseRowProps) {
  const { icon: Icon, words } = SEVERITIES[cause.severity];
  const Arrow = open ? ChevronDown : ChevronRight;
  const refusal = refusalFor(useIdentity(), { on: "cause" });
  const askBy = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey || refusal !== undefined) return;
    if (event.key === "a" || event.key === "z") {
      event.preventDefault();
      onAsked({ cause, snooze: event.key === "z" });
    }
  };
  return (
    <li data-severity={cause.severity}>
      <div className={styles.row} onKeyDown={askBy}>
        <Icon className={styles.severity} role="img" aria-label={words} />
        <Button look="quiet" className={styles.title} aria-expanded={open} title={cause.title} onClick={onToggle}>
          <Arrow aria-hidden="true" />
          <span>{cause.title}</span>
        </Button>
        <span className={styles.figure}>
          {cause.count.toLocaleString("en")} {unitWords(cause)}
        </span>
        <span className={styles.figure}>{cause.gpuSeconds > 0 ? gpuHours(cause.gpuSeconds) : "—"}</span>
        <span className={styles.figure}>{cause.since ? <Timestamp at={cause.since} /> : "—"}</span>
        <span className={styles.actions}>
          <Button refusal={refusal} aria-keyshortcuts="a" aria-label={`Acknowledge ${cause.title}`} onClick={() => onAsked({ cause, snooze: false })}>
            Acknowledge
          </Button>
          <Button refusal={refusal} aria-keyshortcuts="z" aria-label={`Snooze ${cause.title}`} onClick={() => onAsked({ cause, snooze: true })}>
            Snooze
          </Button>
        </span>
      </div>
      {cause.acknowledgment && <Acknowledged cause={cause} refusal={refusal} />}
      {open && <Objects cause={cause} />}
    </li>
  );
}

function Acknowledged({ cause, refusal }: { cause: Cause; refusal: string | undefined }) {
  const client = useQueryClient();
  const held = cause.acknowledgment;
  const end = async () => {
    await reopen([cause.key], "Reopened on the page").catch((error: unknown) => announce(problemOf(error).detail, "bad"));
    await client.invalidateQueries({ queryKey: ["alerts"] });
  };
  if (!held) return null;
  return (
    <p className={styles.held}>
      {held.until ? `Snoozed until ${formatAbsolute(held.until)}` : "Acknowledged"} by {held.by}, <Timestamp at={held.at} />
      {held.reason !== "" && <>: {held.reason}</>}
      <Button look="quiet" refusal={refusal} aria-label={`Reopen ${cause.title}`} onClick={() => void end()}>
        Reopen
      </Button>
    </p>
  );
}

function Objects({ cause }: { cause: Cause }) {
  return (
    <ul className={styles.items}>
      {cause.items.map((item, index) => (
        <li key={index}>
          {item.link.startsWith("/") ? <RouterLink to={item.link}>{item.title}</RouterLink> : <strong>{item.title}</strong>}
          <p>{item.detail}</p>
          {item.stream && <RouterLink to={`/events?stream=${encodeURIComponent(item.stream)}`}>Events</RouterLink>}
        </li>
      ))}
    </ul>
  );
}

function unitWords({ unit, count }: Cause): string {
  const noun = unit.toLowerCase();
  return count === 1 ? noun : `${noun}s`;
}
