// Asks why before anything is changed, for one object or many; shows the same as a command, and each result.
import { type ReactNode, type SubmitEvent, useId, useState } from "react";

import { problemOf } from "@/lib/api/problem";
import { type ActionInput, EXPIRIES, type Outcome, type Target, expiryAt, runAll, runTogether } from "@/lib/actions";

import styles from "./action-dialog.module.css";
import { Button } from "./button";
import { CodeBlock } from "./code-block";
import { SelectField, TextField } from "./fields";
import { Modal } from "./modal";
import { announce } from "./notices";

export interface ActionDialogProps {
  /** The verb as on the button: "Hold". */
  verb: string;
  /** What it is done to, in words: "team-a/train" or "3 workloads". */
  subject: string;
  words: string;
  targets: Target[];
  /** Other workloads that the action affects, shown before it is confirmed. */
  affected?: Affected;
  danger?: boolean;
  /** What it is as soon as it was asked for; a drain has then only begun. */
  soon?: "done" | "begun";
  /** Whether it may run out by itself. */
  expires?: boolean;
  /** It is the user's own work, for which no reason is asked. */
  own?: boolean;
  /** Fields of the action itself. */
  children?: ReactNode;
  command: (input: ActionInput) => string;
  run: (key: string, input: ActionInput) => Promise<unknown>;
  /** Does it to all of them in one request, where there is one; the outcomes are in the order of the keys. */
  together?: (keys: string[], input: ActionInput) => Promise<Outcome[]>;
  /** Undoes it for these, where that is possible. */
  undo?: (keys: string[]) => void;
  onClose: () => void;
}

export interface Affected {
  heading: string;
  names: readonly string[];
}

const MAX_LISTED = 100;

export function ActionDialog(props: ActionDialogProps) {
  const { verb, subject, words, targets, affected, danger = false, soon = "done", expires = false, own = false, children, command, run, together, undo, onClose } = props;
  const [reason, setReason] = useState("");
  const [expiry, setExpiry] = useState("0");
  const [running, setRunning] = useState(false);
  const [outcomes, setOutcomes] = useState<Record<string, Outcome>>({});
  const able = targets.filter((target) => target.refusal === undefined);
  const input: ActionInput = { reason: reason.trim(), expirySeconds: Number(expiry) };
  const finished = able.length > 0 && able.every((target) => outcomes[target.key] !== undefined);

  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    setRunning(true);
    const at = withExpiry(input);
    const keys = able.map((target) => target.key);
    const found: Record<string, Outcome> = {};
    const report = (key: string, outcome: Outcome) => {
      found[key] = outcome;
      setOutcomes((known) => ({ ...known, [key]: outcome }));
    };
    await (together ? runTogether(keys, () => together(keys, at), report) : runAll(keys, (key) => run(key, at), report));
    setRunning(false);
    const done = keys.filter((key) => found[key]?.error === undefined);
    const isWhole = done.length === keys.length;
    announce(keys.length === 1 && isWhole ? `${verb} ${subject}: ${soon}` : `${verb}: ${done.length} of ${keys.length} ${soon}`, isWhole ? "good" : "bad", undo && done.length > 0 ? () => undo(done) : undefined);
    if (isWhole) onClose();
  };

  return (
    <Modal open title={`${verb} ${subject}`} words={words} onClose={onClose}>
      <form className={styles.form} onSubmit={(event) => void submit(event)}>
        {(targets.length > able.length || targets.length > 1 || finished) && (
          <Targets targets={targets} able={able.length} outcomes={outcomes} />
        )}
        {affected && <AffectedList affected={affected} />}
        {children}
        <div className={expires ? styles.pair : undefined}>
          <ReasonField value={reason} own={own} onChange={setReason} />
          {expires && (
            <SelectField label="Expires after" options={EXPIRIES} value={expiry} onChange={(event) => setExpiry(event.target.value)} />
          )}
        </div>
        <div>
          <p className={styles.caption}>CLI equivalent</p>
          <CodeBlock wrap label="command" text={command(input)} />
        </div>
        <div className={styles.foot}>
          <Button onClick={onClose}>{finished ? "Close" : "Cancel"}</Button>
          <Button
            type="submit"
            look={danger ? "danger" : "primary"}
            refusal={refusalOf(able.length, own || reason.trim() !== "", running, finished)}
          >
            {running ? "Working…" : verb}
          </Button>
        </div>
      </form>
    </Modal>
  );
}

function ReasonField({ value, own, onChange }: { value: string; own: boolean; onChange: (reason: string) => void }) {
  return (
    <TextField
      label={own ? "Reason (optional, recorded in the event log)" : "Reason (recorded in the event log)"}
      placeholder="e.g. Driver upgrade, INC-4711"
      value={value}
      required={!own}
      maxLength={1024}
      autoFocus
      onChange={(event) => onChange(event.target.value)}
    />
  );
}

function Targets({ targets, able, outcomes }: { targets: Target[]; able: number; outcomes: Record<string, Outcome> }) {
  const id = useId();
  // What needs a look comes first; the number in the caption is of all.
  const rank = ({ key, refusal }: Target) => (outcomes[key]?.error === undefined ? (refusal === undefined ? 2 : 1) : 0);
  const listed = targets.length <= MAX_LISTED ? targets : targets.toSorted((one, other) => rank(one) - rank(other)).slice(0, MAX_LISTED);
  const left = targets.length - listed.length;
  return (
    <div>
      <p className={styles.caption} id={id}>
        {able.toLocaleString("en")} of {targets.length.toLocaleString("en")} will be changed{left > 0 && `; the first ${MAX_LISTED} are listed, exceptions before others`}
      </p>
      <ul className={styles.targets} aria-labelledby={id} tabIndex={0}>
        {listed.map((target) => (
          <TargetLine key={target.key} target={target} outcome={outcomes[target.key]} />
        ))}
      </ul>
    </div>
  );
}

function AffectedList({ affected: { heading, names } }: { affected: Affected }) {
  const id = useId();
  return (
    <div role="status">
      <p className={styles.caption} id={id}>
        {heading}
      </p>
      {names.length > 0 && (
        <ul className={styles.targets} aria-labelledby={id} tabIndex={0}>
          {names.map((name) => (
            <li key={name} className={`mono ${styles.target ?? ""}`}>
              {name}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

function TargetLine({ target, outcome }: { target: Target; outcome: Outcome | undefined }) {
  const failed = outcome?.error !== undefined;
  const said = failed ? problemOf(outcome.error).detail : outcome === undefined ? target.refusal : "Done";
  const look = failed ? styles.failed : outcome === undefined ? styles.out : styles.done;
  return (
    <li className={styles.target}>
      <span className="mono">{target.key}</span>
      <span className={look}>{said ?? ""}</span>
    </li>
  );
}

function withExpiry(input: ActionInput): ActionInput {
  return { ...input, expiresAt: expiryAt(input.expirySeconds, Date.now()) };
}

function refusalOf(able: number, hasReason: boolean, running: boolean, finished: boolean): string | undefined {
  if (able === 0) return "This action doesn't apply to any selected workload.";
  if (finished) return "Done";
  if (running) return "In progress…";
  return hasReason ? undefined : "Enter a reason. It is recorded in the event log.";
}
