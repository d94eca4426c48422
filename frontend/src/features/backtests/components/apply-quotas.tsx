// Applying what was tried: its effect now, the reason, and when the prediction is checked; and rolling it back.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Undo2 } from "lucide-react";
import { type SubmitEvent, useState } from "react";

import { Button } from "@/components/ui/button";
import { SelectField, TextField } from "@/components/ui/fields";
import { Modal } from "@/components/ui/modal";
import { announce } from "@/components/ui/notices";
import { ProblemWords } from "@/components/ui/states";
import { View } from "@/components/ui/view";
import { problemOf, withRemedy } from "@/lib/api/problem";
import type { ApplyResults, Backtest } from "@/lib/api/types";
import { formatDuration } from "@/lib/format/times";

import { applyQuotas, effectNowQuery, recordPrediction } from "../api/lab";
import { documentsOf, type QueueManifest, type QuotaChange } from "../model/lab";
import styles from "./lab.module.css";

const NEVER = "0";
const DAY = 86_400;
const CHECKS = [
  { value: "3600", words: "After 1 hour" },
  { value: String(DAY), words: "After 1 day" },
  { value: String(7 * DAY), words: "After 1 week" },
  { value: NEVER, words: "No check" },
];
const REASON = "Enter a reason. It is recorded in the event log.";

/** A change that was applied from the lab, and the manifests that undo it. */
export interface Applied {
  changes: QuotaChange[];
  before: QueueManifest[];
  versions: Readonly<Record<string, string>>;
  checkedAfter: number;
}

type Sent = Pick<Applied, "changes" | "before"> & { documents: string };

export interface ApplyQuotasDialogProps {
  before: QueueManifest[];
  after: QueueManifest[];
  changes: QuotaChange[];
  /** The backtest of this change; without one there is nothing to check. */
  backtest: Backtest | undefined;
  onClose: () => void;
  onDone: (applied: Applied) => void;
}

export function ApplyQuotasDialog({ before, after, changes, backtest, onClose, onDone }: ApplyQuotasDialogProps) {
  const client = useQueryClient();
  const [reason, setReason] = useState("");
  const [check, setCheck] = useState(String(DAY));
  const seconds = backtest === undefined ? 0 : Number(check);
  const doing = useMutation({
    // As they stood when they were sent: the queues are read anew before the answer is here.
    mutationFn: async ({ documents }: Sent) => {
      const results = await applyQuotas(documents, reason.trim());
      const refused = refusalsOf(results);
      if (refused.length > 0 || backtest === undefined || seconds === 0) return { results, checked: 0 };
      const checked = await recordPrediction(backtest.id, seconds, reason.trim()).then(
        () => seconds,
        (failure: unknown) => {
          announce(`Applied, but not to be checked: ${problemOf(failure).detail}`, "bad");
          return 0;
        },
      );
      return { results, checked };
    },
    onSuccess: async ({ results, checked }, sent) => {
      await client.invalidateQueries({ queryKey: ["objects"] });
      await client.invalidateQueries({ queryKey: ["predictions"] });
      if (refusalsOf(results).length > 0) return;
      announce(`${sent.changes.length} ${sent.changes.length === 1 ? "quota" : "quotas"} applied`);
      onDone({ changes: sent.changes, before: sent.before, versions: versionsOf(results), checkedAfter: checked });
    },
  });
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (reason.trim() !== "" && !doing.isPending) doing.mutate({ documents: documentsOf(after, {}), changes, before });
  };
  return (
    <Modal open title="Apply quotas" words="All changes are applied together." onClose={onClose}>
      <form className={styles.form} onSubmit={submit}>
        <ChangeList changes={changes} />
        <EffectNow documents={documentsOf(after)} />
        <TextField label="Reason (recorded in the event log)" value={reason} required maxLength={1024} onChange={(event) => setReason(event.target.value)} />
        {backtest === undefined ? (
          <p className={styles.basis}>No backtest of this change is done, so that no wait is predicted and checked.</p>
        ) : (
          <SelectField label="Compare waits with the prediction" value={check} options={CHECKS} onChange={(event) => setCheck(event.target.value)} />
        )}
        <Refused error={doing.error} results={doing.data?.results} />
        <Foot words="Apply" isPending={doing.isPending} reason={reason} onClose={onClose} />
      </form>
    </Modal>
  );
}

/** That a change was applied, with the way back. */
export function AppliedNote({ applied, onClose }: { applied: Applied; onClose: () => void }) {
  const [isAsked, setIsAsked] = useState(false);
  return (
    <section className={styles.applied} aria-label="Applied change">
      <div>
        <strong>Applied</strong>
        <ChangeList changes={applied.changes} />
        <p>{applied.checkedAfter > 0 ? `Waits are compared with the prediction in ${formatDuration(applied.checkedAfter)}.` : "No check is planned."}</p>
      </div>
      <div className={styles.buttons}>
        <Button onClick={() => setIsAsked(true)}>
          <Undo2 aria-hidden="true" />
          Roll back…
        </Button>
        <Button look="quiet" onClick={onClose}>
          Dismiss
        </Button>
      </div>
      {isAsked && <RollBackDialog applied={applied} onClose={() => setIsAsked(false)} onDone={onClose} />}
    </section>
  );
}

function RollBackDialog({ applied: { before, versions }, onClose, onDone }: { applied: Applied; onClose: () => void; onDone: () => void }) {
  const client = useQueryClient();
  const [reason, setReason] = useState("");
  const doing = useMutation({
    mutationFn: () => applyQuotas(documentsOf(before, versions), reason.trim()),
    onSuccess: async (results) => {
      await client.invalidateQueries({ queryKey: ["objects"] });
      if (refusalsOf(results).length > 0) return;
      announce(`${before.length} ${before.length === 1 ? "ClusterQueue" : "ClusterQueues"} rolled back`);
      onDone();
    },
  });
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (reason.trim() !== "" && !doing.isPending) doing.mutate();
  };
  return (
    <Modal open title="Roll back quotas" words="Restores the quotas from before the change, as a new change. A ClusterQueue that was changed since is refused." onClose={onClose}>
      <form className={styles.form} onSubmit={submit}>
        <p>{before.map(({ metadata }) => metadata.name).join(", ")}</p>
        <EffectNow documents={documentsOf(before)} />
        <TextField label="Reason (recorded in the event log)" value={reason} required maxLength={1024} onChange={(event) => setReason(event.target.value)} />
        <Refused error={doing.error} results={doing.data} />
        <Foot words="Roll back" isPending={doing.isPending} reason={reason} onClose={onClose} />
      </form>
    </Modal>
  );
}

function ChangeList({ changes }: { changes: QuotaChange[] }) {
  return (
    <ul className={styles.changes} aria-label="Changes">
      {changes.map(({ key, words }) => (
        <li key={key}>{words}</li>
      ))}
    </ul>
  );
}

function EffectNow({ documents }: { documents: string }) {
  const effect = useQuery(effectNowQuery(documents));
  return (
    <View query={effect} rows={1}>
      {(found) => (
        <p role="status">
          Now: {found.starts} start · {found.evictions} evicted · {found.effects.length} workloads affected
        </p>
      )}
    </View>
  );
}

function Refused({ error, results }: { error: unknown; results: ApplyResults | undefined }) {
  return (
    <>
      {error !== null && error !== undefined && (
        <div role="alert">
          <ProblemWords problem={problemOf(error)} />
        </div>
      )}
      {refusalsOf(results).map((problem) => (
        <div key={problem.detail} role="alert">
          <strong>{problem.title}</strong>
          <p>{withRemedy(problem.detail ?? "", problem.remedy)}</p>
        </div>
      ))}
    </>
  );
}

function Foot({ words, isPending, reason, onClose }: { words: string; isPending: boolean; reason: string; onClose: () => void }) {
  const refusal = isPending ? "In progress…" : reason.trim() === "" ? REASON : undefined;
  return (
    <div className={styles.foot}>
      <Button onClick={onClose}>Cancel</Button>
      <Button type="submit" look="primary" {...(refusal !== undefined && { refusal })}>
        {words}
      </Button>
    </div>
  );
}

function refusalsOf(results: ApplyResults | undefined) {
  return results?.results.flatMap(({ problem }) => problem ?? []) ?? [];
}

function versionsOf({ results }: ApplyResults): Record<string, string> {
  return Object.fromEntries(results.flatMap(({ name, resourceVersion }) => (resourceVersion ? [[name, resourceVersion]] : [])));
}
