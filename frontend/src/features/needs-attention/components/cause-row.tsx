// One cause of alerts: what, how many, what it costs, since when, the first action; it opens to its objects.
import { useQueryClient } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { ChevronDown, ChevronRight, CircleAlert, Info, MoreHorizontal, OctagonAlert } from "lucide-react";
import type { KeyboardEvent, ReactNode } from "react";

import { Button } from "@/components/ui/button";
import { Menu, type MenuItem } from "@/components/ui/menu";
import { announce } from "@/components/ui/notices";
import { RouterLink } from "@/components/ui/router-link";
import { Timestamp } from "@/components/ui/timestamp";
import { problemOf } from "@/lib/api/problem";
import type { Cause, Phase } from "@/lib/api/types";
import { gpuHours } from "@/lib/format/amounts";
import { formatAbsolute } from "@/lib/format/times";
import { useIdentity } from "@/lib/hooks/use-session";
import { searchWith } from "@/lib/hooks/use-url";
import { refusalFor } from "@/lib/permissions";

import { reopen } from "../api/alerts";
import { STUCK_PHASES, countWords, primaryAction } from "../model/causes";
import type { BulkActionVerb } from "../model/stuck-workloads";
import type { AskedAcknowledgment } from "./acknowledge-dialog";
import styles from "./cause-list.module.css";

export const SEVERITIES = {
  critical: { icon: OctagonAlert, words: "Critical" },
  warning: { icon: CircleAlert, words: "Warning" },
  info: { icon: Info, words: "Note" },
};

interface CauseRowProps {
  cause: Cause;
  open: boolean;
  onToggle: () => void;
  onAsked: (asked: AskedAcknowledgment) => void;
  onAll: (action: BulkActionVerb, phase: Phase) => void;
  /** What it concerns, where that is more than a list of names. */
  children?: ReactNode;
}

export function CauseRow({ cause, open, onToggle, onAsked, onAll, children }: CauseRowProps) {
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
          {countWords(cause)}
        </span>
        <span className={styles.figure}>{cause.gpuSeconds > 0 ? gpuHours(cause.gpuSeconds) : "—"}</span>
        <span className={styles.figure}>{cause.since ? <Timestamp at={cause.since} /> : "—"}</span>
        <span className={styles.actions}>
          <Primary cause={cause} onAll={onAll} />
          <Button className={styles.spare} refusal={refusal} aria-keyshortcuts="a" aria-label={`Acknowledge ${cause.title}`} onClick={() => onAsked({ cause, snooze: false })}>
            Acknowledge
          </Button>
          <RowMenu cause={cause} refusal={refusal} onAsked={onAsked} />
        </span>
      </div>
      {cause.acknowledgment && <Acknowledged cause={cause} refusal={refusal} />}
      {open && (children ?? <Objects cause={cause} />)}
    </li>
  );
}

function Primary({ cause, onAll }: Pick<CauseRowProps, "cause" | "onAll">) {
  const { history } = useRouter();
  const action = primaryAction(cause);
  const phase = STUCK_PHASES[cause.kind];
  const press = () => {
    if ("to" in action) history.push(action.to);
    else if (phase !== undefined) onAll(action.verb, phase);
  };
  return (
    <Button className={styles.first} aria-label={`${action.words}: ${cause.title}`} onClick={press}>
      {action.words}
    </Button>
  );
}

function RowMenu({ cause, refusal, onAsked }: Pick<CauseRowProps, "cause" | "onAsked"> & { refusal: string | undefined }) {
  const { history } = useRouter();
  const item = (key: string, words: string, refused: string | undefined, onSelect: () => void): MenuItem => ({
    key,
    words: refused === undefined ? words : `${words}: ${refused}`,
    disabled: refused !== undefined,
    onSelect,
  });
  const stream = cause.items.find((one) => one.stream)?.stream;
  const copy = async () => {
    const address = `${window.location.origin}/attention${searchWith("", { alert: cause.key })}`;
    await navigator.clipboard.writeText(address);
    announce("Link copied");
  };
  return (
    <Menu
      heading={cause.title}
      trigger={
        <Button look="quiet" shape="icon" className={styles.menu} aria-label={`Actions on ${cause.title}`}>
          <MoreHorizontal aria-hidden="true" />
        </Button>
      }
      items={[
        item("acknowledge", "Acknowledge…", refusal, () => onAsked({ cause, snooze: false })),
        item("snooze", "Snooze…", refusal, () => onAsked({ cause, snooze: true })),
        ...(stream === undefined ? [] : [item("events", "Show events", undefined, () => history.push(`/events?stream=${encodeURIComponent(stream)}`))]),
        item("link", "Copy link", undefined, () => void copy().catch(() => announce("The link could not be copied", "bad"))),
      ]}
    />
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
