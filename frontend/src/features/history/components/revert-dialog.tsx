// The confirmation of a rollback: its simulated effect and the reason.
import { useMutation, useQuery } from "@tanstack/react-query";
import { type SubmitEvent, useState } from "react";

import { Button } from "@/components/ui/button";
import { TextField } from "@/components/ui/fields";
import { Modal } from "@/components/ui/modal";
import { announce } from "@/components/ui/notices";
import { ProblemWords } from "@/components/ui/states";
import { View } from "@/components/ui/view";
import { problemOf } from "@/lib/api/problem";
import type { Revision } from "@/lib/api/types";

import { previewRevert, revert } from "../api/history";
import styles from "./history.module.css";

export function RevertDialog({ revision, onClose }: { revision: Revision; onClose: () => void }) {
  const { stream, position, name } = revision;
  const [reason, setReason] = useState("");
  const preview = useQuery({ queryKey: ["history", "preview", stream, position], queryFn: () => previewRevert(stream, position), gcTime: 0 });
  const doing = useMutation({
    mutationFn: () => revert(stream, position, reason.trim()),
    onSuccess: () => {
      announce(`${name} is again as it was at #${position}`);
      onClose();
    },
  });
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    doing.mutate();
  };
  return (
    <Modal open title={`Make ${name} what it was`} words={`As right after #${position}. It is a new change; the log keeps everything.`} onClose={onClose}>
      <form className={styles.form} onSubmit={submit}>
        <View query={preview} rows={2}>
          {(found) => (
            <p role="status">
              {found.starts} would start, {found.evictions} would be evicted; {found.effects.length} would fare differently in all.
            </p>
          )}
        </View>
        <TextField label="Reason (kept in the log)" value={reason} required maxLength={1024} onChange={(event) => setReason(event.target.value)} />
        {doing.isError && <ProblemWords problem={problemOf(doing.error)} />}
        <div className={styles.foot}>
          <Button onClick={onClose}>Leave as it is</Button>
          <Button type="submit" look="primary" refusal={reason.trim() === "" ? "Give a reason first: it is kept in the log." : undefined}>
            Make it so
          </Button>
        </div>
      </form>
    </Modal>
  );
}
