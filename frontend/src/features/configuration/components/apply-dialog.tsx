// Before a configuration change: the workloads it would start or evict, and its reason.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { type SubmitEvent, useState } from "react";

import { Button } from "@/components/ui/button";
import { DiffView } from "@/components/ui/code-editor";
import { TextField } from "@/components/ui/fields";
import { RouterLink } from "@/components/ui/router-link";
import { Modal } from "@/components/ui/modal";
import { announce } from "@/components/ui/notices";
import { ProblemWords } from "@/components/ui/states";
import { View } from "@/components/ui/view";
import { problemOf, withRemedy } from "@/lib/api/problem";
import type { Simulation } from "@/lib/api/types";
import { workloadAddress } from "@/lib/events";

import { applyDocuments, previewQuery } from "../api/objects";
import { effectWords, impactWords } from "../model/impact";
import styles from "./configuration.module.css";

export interface ApplyDialogProps {
  documents: string;
  /** What they were typed over. */
  over: string;
  onClose: () => void;
  onDone: () => void;
}

export function ApplyDialog({ documents, over, onClose, onDone }: ApplyDialogProps) {
  const [reason, setReason] = useState("");
  const client = useQueryClient();
  const preview = useQuery(previewQuery(documents));
  const doing = useMutation({
    mutationFn: () => applyDocuments(documents, reason.trim()),
    onSuccess: async ({ results }) => {
      const refused = results.filter((result) => result.outcome === "rejected");
      await client.invalidateQueries({ queryKey: ["objects"] });
      if (refused.length > 0) return;
      announce(`${results.length} applied`);
      onDone();
    },
  });
  const refused = doing.data?.results.flatMap((result) => result.problem ?? []) ?? [];
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    doing.mutate();
  };
  return (
    <Modal open title="Preview impact" words="Simulated on the current state. Not applied yet." onClose={onClose}>
      <form className={styles.form} onSubmit={submit}>
        <DiffView label="Changes" before={over} after={documents} />
        <View query={preview} rows={2}>
          {(found) => <Impact found={found} />}
        </View>
        <TextField label="Reason (recorded in the event log)" value={reason} required maxLength={1024} onChange={(event) => setReason(event.target.value)} />
        {doing.isError && <ProblemWords problem={problemOf(doing.error)} />}
        {refused.map((problem) => (
          <div key={problem.detail} role="alert">
            <strong>{problem.title}</strong>
            <p>{withRemedy(problem.detail ?? "", problem.remedy)}</p>
          </div>
        ))}
        <div className={styles.foot}>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" refusal={refusalOf(reason, doing.isPending)}>
            Apply
          </Button>
        </div>
      </form>
    </Modal>
  );
}

function Impact({ found }: { found: Simulation }) {
  return (
    <div role="status">
      <p>{impactWords(found.effects)}</p>
      {found.effects.length > 0 && (
        <ul className={styles.effects} tabIndex={0} aria-label="Affected workloads">
          {found.effects.map((effect) => (
            <li key={effect.workload}>
              <RouterLink to={workloadAddress(effect.workload)}>{effect.workload}</RouterLink> {effectWords(effect)}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

function refusalOf(reason: string, isRunning: boolean): string | undefined {
  if (isRunning) return "In progress…";
  return reason.trim() === "" ? "Enter a reason. It is recorded in the event log." : undefined;
}
