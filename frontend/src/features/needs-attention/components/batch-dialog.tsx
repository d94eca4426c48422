// A bulk action: previewed by the server, applied to workloads without later changes, undoable.
import { type UseQueryResult, useQuery } from "@tanstack/react-query";
import { type SubmitEvent, useState } from "react";

import { Button } from "@/components/ui/button";
import { CodeBlock } from "@/components/ui/code-block";
import { SelectField, TextField } from "@/components/ui/fields";
import { Modal } from "@/components/ui/modal";
import { announce } from "@/components/ui/notices";
import { Failed, Skeleton } from "@/components/ui/states";
import { EXPIRIES, expiryAt } from "@/lib/actions";
import { problemOf } from "@/lib/api/problem";
import type { BulkResult, StuckWorkload } from "@/lib/api/types";

import { actOnAll, preview } from "../api/stuck-workloads";
import { ACTION_WORDS, type BulkActionVerb, commandFor, previewWords } from "../model/stuck-workloads";
import { BatchItems } from "./batch-items";
import styles from "./needs-attention.module.css";

export interface BatchDialogProps {
  action: BulkActionVerb;
  cases: StuckWorkload[];
  onClose: () => void;
  onDone: () => void;
  /** Opens the record of the batch, where it can be undone. */
  onRecord: (batch: string) => void;
}

export function BatchDialog({ action, cases, onClose, onDone, onRecord }: BatchDialogProps) {
  const words = ACTION_WORDS[action];
  const [done, setDone] = useState<BulkResult | null>(null);
  const subject = cases.length === 1 ? (cases[0]?.workload ?? "") : `${cases.length} workloads`;
  const close = () => {
    if (done !== null) onDone();
    onClose();
  };
  return (
    <Modal open title={`${words.verb} ${subject}`} words={words.words} onClose={close}>
      {done === null ? (
        <Asking action={action} cases={cases} onClose={close} onDone={setDone} />
      ) : (
        <Done result={done} undoes={["hold", "activate", "deactivate"].includes(action)} onRecord={onRecord} onClose={close} />
      )}
    </Modal>
  );
}

interface AskingProps {
  action: BulkActionVerb;
  cases: StuckWorkload[];
  onClose: () => void;
  onDone: (result: BulkResult) => void;
}

function Asking({ action, cases, onClose, onDone }: AskingProps) {
  const words = ACTION_WORDS[action];
  const [reason, setReason] = useState("");
  const [expiry, setExpiry] = useState("0");
  const [running, setRunning] = useState(false);
  // The set is frozen when the dialog opens: workloads that change later are left alone.
  const shown = useQuery({
    queryKey: ["preview", action, cases.map((found) => found.workload)],
    queryFn: () => preview({ verb: action, reason: "", cases }),
    staleTime: Infinity,
    gcTime: 0,
  });
  const able = new Set((shown.data?.items ?? []).filter((item) => item.outcome === "eligible").map((item) => item.workload));
  const expirySeconds = Number(expiry);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    setRunning(true);
    const chosen = cases.filter((found) => able.has(found.workload));
    const asked = { verb: action, reason: reason.trim(), cases: chosen, position: shown.data?.position, expiresAt: expiryAt(expirySeconds, Date.now()) };
    try {
      const result = await actOnAll(asked);
      announce(`${words.verb}: ${result.eligible} of ${result.items.length} done`, result.ineligible > 0 ? "bad" : "good");
      onDone(result);
    } catch (error) {
      announce(problemOf(error).detail, "bad");
      setRunning(false);
    }
  };
  return (
    <form className={styles.form} onSubmit={(event) => void submit(event)}>
      <Preview shown={shown} />
      <TextField
        label="Reason (recorded in the event log)"
        placeholder="e.g. Spot capacity is back, INC-4711"
        value={reason}
        required
        maxLength={1024}
        autoFocus
        onChange={(event) => setReason(event.target.value)}
      />
      {words.expires && (
        <SelectField label="Expires after" options={EXPIRIES} value={expiry} onChange={(event) => setExpiry(event.target.value)} />
      )}
      <div>
        <p className={styles.caption}>CLI equivalent</p>
        <CodeBlock wrap label="command" text={commandFor(action, [...able], { reason: reason.trim(), expirySeconds })} />
      </div>
      <div className={styles.foot}>
        <Button onClick={onClose}>Cancel</Button>
        <Button type="submit" look={words.danger ? "danger" : "primary"} refusal={refusalOf(able.size, reason, running)}>
          {running ? "Working…" : `${words.verb} ${able.size}`}
        </Button>
      </div>
    </form>
  );
}

function Preview({ shown }: { shown: UseQueryResult<BulkResult> }) {
  if (shown.isError) return <Failed error={shown.error} onRetry={() => void shown.refetch()} />;
  if (shown.data === undefined) return <Skeleton rows={3} />;
  return <BatchItems heading={previewWords(shown.data)} items={shown.data.items} />;
}

function Done({ result, undoes, onRecord, onClose }: { result: BulkResult; undoes: boolean; onRecord: (batch: string) => void; onClose: () => void }) {
  const record = () => {
    onClose();
    onRecord(result.batch);
  };
  return (
    <div className={styles.form}>
      <BatchItems heading={`${result.eligible} succeeded, ${result.ineligible} skipped`} items={result.items} />
      <p className={styles.caption}>
        Bulk action ID: <code>{result.batch}</code>
      </p>
      <div className={styles.foot}>
        <Button onClick={record}>{undoes ? "Undo" : "View results"}</Button>
        <Button look="primary" autoFocus onClick={onClose}>
          Close
        </Button>
      </div>
    </div>
  );
}

function refusalOf(able: number, reason: string, running: boolean): string | undefined {
  if (able === 0) return "This action doesn't apply to any selected workload.";
  if (running) return "In progress…";
  return reason.trim() === "" ? "Enter a reason. It is recorded in the event log." : undefined;
}
