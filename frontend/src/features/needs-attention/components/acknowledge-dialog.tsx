// Asks why a cause is acknowledged, or why and for how long it is snoozed.
import { useQueryClient } from "@tanstack/react-query";
import { type SubmitEvent, useState } from "react";

import { Button } from "@/components/ui/button";
import { CodeBlock } from "@/components/ui/code-block";
import { SelectField, TextField } from "@/components/ui/fields";
import { Modal } from "@/components/ui/modal";
import { announce } from "@/components/ui/notices";
import { expiryAt } from "@/lib/actions";
import { problemOf } from "@/lib/api/problem";
import type { Cause } from "@/lib/api/types";

import { acknowledge, reopen } from "../api/alerts";
import { SNOOZES, acknowledgeCommand } from "../model/causes";
import styles from "./needs-attention.module.css";

export interface AskedAcknowledgment {
  cause: Cause;
  snooze: boolean;
}

export function AcknowledgeDialog({ cause, snooze, onClose }: AskedAcknowledgment & { onClose: () => void }) {
  const client = useQueryClient();
  const [reason, setReason] = useState("");
  const [length, setLength] = useState<string>(SNOOZES[1].value);
  const [running, setRunning] = useState(false);
  const seconds = snooze ? Number(length) : 0;
  const refresh = () => client.invalidateQueries({ queryKey: ["alerts"] });
  const undo = async () => {
    await reopen([cause.key], "Undo").catch((error: unknown) => announce(problemOf(error).detail, "bad"));
    await refresh();
  };
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    setRunning(true);
    try {
      await acknowledge({ causes: [cause.key], reason: reason.trim(), until: expiryAt(seconds, Date.now()) });
      await refresh();
      announce(`${snooze ? "Snoozed" : "Acknowledged"}: ${cause.title}`, "good", () => void undo());
      onClose();
    } catch (error) {
      announce(problemOf(error).detail, "bad");
      setRunning(false);
    }
  };
  const ready = reason.trim() === "" ? "Enter a reason. It is recorded in the event log." : undefined;
  return (
    <Modal open title={`${snooze ? "Snooze" : "Acknowledge"}: ${cause.title}`} words="Webhooks are told of it no more until it changes: a higher severity or more objects." onClose={onClose}>
      <form className={styles.form} onSubmit={(event) => void submit(event)}>
        <TextField
          label="Reason (recorded in the event log)"
          placeholder="e.g. Power is being restored, INC-4711"
          value={reason}
          required
          maxLength={500}
          autoFocus
          onChange={(event) => setReason(event.target.value)}
        />
        {snooze && <SelectField label="Snooze for" options={SNOOZES} value={length} onChange={(event) => setLength(event.target.value)} />}
        <div>
          <p className={styles.caption}>CLI equivalent</p>
          <CodeBlock wrap label="command" text={acknowledgeCommand(cause.key, reason.trim(), seconds)} />
        </div>
        <div className={styles.foot}>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" refusal={running ? "In progress…" : ready}>
            {snooze ? "Snooze" : "Acknowledge"}
          </Button>
        </div>
      </form>
    </Modal>
  );
}
