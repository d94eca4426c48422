// The record of a bulk action at an address of its own: actor, reason, present phase of each workload, undo.
import { useQuery } from "@tanstack/react-query";
import { type SubmitEvent, useState } from "react";

import { Button } from "@/components/ui/button";
import { CodeBlock } from "@/components/ui/code-block";
import { TextField } from "@/components/ui/fields";
import { Modal } from "@/components/ui/modal";
import { Timestamp } from "@/components/ui/timestamp";
import { announce } from "@/components/ui/notices";
import { phaseWords } from "@/components/ui/phase-badge";
import { View } from "@/components/ui/view";
import { quoted } from "@/lib/actions";
import { problemOf } from "@/lib/api/problem";
import type { Batch, BulkResult, Phase } from "@/lib/api/types";
import { useIdentity } from "@/lib/hooks/use-session";
import { refusalFor } from "@/lib/permissions";

import { batchQuery, undoBatch } from "../api/stuck-workloads";
import { batchTitle, standingWords, takenBack } from "../model/stuck-workloads";
import { BatchItems } from "./batch-items";
import styles from "./needs-attention.module.css";

export function BatchRecord({ batch, onClose }: { batch: string; onClose: () => void }) {
  const found = useQuery(batchQuery(batch));
  return (
    <Modal open title={found.data ? batchTitle(found.data) : "Bulk action"} words={found.data && <WhoAndWhy batch={found.data} />} onClose={onClose}>
      <View query={found} rows={3}>
        {(read) => <Record key={batch} read={read} onClose={onClose} />}
      </View>
    </Modal>
  );
}

function WhoAndWhy({ batch }: { batch: Batch }) {
  return (
    <>
      Done <Timestamp at={batch.at} /> by {batch.actor.replace(/^user:/, "")}: {batch.reason}
    </>
  );
}

function Record({ read, onClose }: { read: Batch; onClose: () => void }) {
  // The record from before the undo is kept: afterwards nothing can be undone.
  const [done, setDone] = useState<{ undone: BulkResult; before: Batch } | null>(null);
  if (done === null) return <TakingBack read={read} onClose={onClose} onDone={(undone) => setDone({ undone, before: read })} />;
  const { undone, before } = done;
  const items = takenBack(undone, before);
  return (
    <div className={styles.form}>
      <BatchItems heading={`${undone.eligible} undone, ${items.length - undone.eligible} skipped`} items={items} />
      <p className={styles.caption}>
        Bulk action ID: <code>{undone.batch}</code>
      </p>
      <div className={styles.foot}>
        <Button look="primary" autoFocus onClick={onClose}>
          Close
        </Button>
      </div>
    </div>
  );
}

function TakingBack({ read, onClose, onDone }: { read: Batch; onClose: () => void; onDone: (undone: BulkResult) => void }) {
  const [reason, setReason] = useState("");
  const [running, setRunning] = useState(false);
  const role = refusalFor(useIdentity(), { on: "workload", namespace: read.items[0]?.workload.split("/")[0] ?? "" });
  const stands = read.items.filter((item) => item.canUndo).length;
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    setRunning(true);
    try {
      const undone = await undoBatch(read.batch, reason.trim());
      announce(`Undone: ${undone.eligible} of ${read.items.length}`, undone.eligible < read.items.length ? "bad" : "good");
      onDone(undone);
    } catch (error) {
      announce(problemOf(error).detail, "bad");
      setRunning(false);
    }
  };
  const items = read.items.map(({ workload, phase, canUndo, reason: stays, did }) => ({
    workload,
    outcome: canUndo ? ("eligible" as const) : ("ineligible" as const),
    reason: canUndo ? "" : `${phase === "" ? "" : `${phaseWords(phase as Phase)} now. `}${stays ?? ""}`,
    next: did,
  }));
  return (
    <form className={styles.form} onSubmit={(event) => void submit(event)}>
      <BatchItems heading={standingWords(read)} items={items} />
      {stands > 0 && (
        <>
          <TextField
            label="Reason for undo (recorded in the event log)"
            value={reason}
            maxLength={1024}
            autoFocus
            onChange={(event) => setReason(event.target.value)}
          />
          <div>
            <p className={styles.caption}>CLI equivalent</p>
            <CodeBlock wrap label="command" text={commandOf(read.batch, reason.trim())} />
          </div>
        </>
      )}
      <div className={styles.foot}>
        <Button onClick={onClose}>{stands > 0 ? "Cancel" : "Close"}</Button>
        {stands > 0 && (
          <Button type="submit" look="primary" refusal={running ? "In progress…" : role}>
            {running ? "Working…" : `Undo ${stands}`}
          </Button>
        )}
      </div>
    </form>
  );
}

function commandOf(batch: string, reason: string): string {
  return `headgate batch ${batch} --undo${reason === "" ? "" : ` --reason ${quoted(reason)}`}`;
}
