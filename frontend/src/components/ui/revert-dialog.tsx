// The confirmation of a rollback: its simulated effect and the reason.
import { useMutation, useQuery } from "@tanstack/react-query";
import { type SubmitEvent, useState } from "react";

import { previewRevert, revert } from "@/lib/api/history";
import { problemOf } from "@/lib/api/problem";
import type { Revision } from "@/lib/api/types";

import { Button } from "./button";
import { TextField } from "./fields";
import { Modal } from "./modal";
import { announce } from "./notices";
import { ProblemWords } from "./states";
import { View } from "./view";
import styles from "./change-list.module.css";

export function RevertDialog({ revision, onClose }: { revision: Revision; onClose: () => void }) {
  const { stream, position, name } = revision;
  const [reason, setReason] = useState("");
  const preview = useQuery({ queryKey: ["history", "preview", stream, position], queryFn: () => previewRevert(stream, position), gcTime: 0 });
  const doing = useMutation({
    mutationFn: () => revert(stream, position, reason.trim()),
    onSuccess: () => {
      announce(`${name} rolled back to #${position}`);
      onClose();
    },
  });
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    doing.mutate();
  };
  return (
    <Modal open title={`Roll back ${name}`} words={`Restores revision #${position} as a new change.`} onClose={onClose}>
      <form className={styles.form} onSubmit={submit}>
        <View query={preview} rows={2}>
          {(found) => (
            <p role="status">
              {found.starts} start · {found.evictions} evicted · {found.effects.length} workloads affected
            </p>
          )}
        </View>
        <TextField label="Reason (recorded in the event log)" value={reason} required maxLength={1024} onChange={(event) => setReason(event.target.value)} />
        {doing.isError && <ProblemWords problem={problemOf(doing.error)} />}
        <div className={styles.foot}>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" refusal={reason.trim() === "" ? "Enter a reason. It is recorded in the event log." : undefined}>
            Roll back
          </Button>
        </div>
      </form>
    </Modal>
  );
}
