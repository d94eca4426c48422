// Protecting a workload from preemption by a higher preemption priority.
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { ActionDialog } from "@/components/ui/action-dialog";
import { FieldGrid, SelectField, TextField } from "@/components/ui/fields";
import type { WorkloadObject } from "@/lib/api/types";

import { priorityClassesQuery, protect } from "../api/workloads";
import { protectCommand } from "../model/actions";
import { keyOf } from "../model/list-anchor";

const WORDS = "Sets the priority that counts when others look for victims. Its place in the queue and preemptions under way stay as they are.";

export function ProtectDialog({ workload, own, onClose }: { workload: WorkloadObject; own: boolean; onClose: () => void }) {
  const key = keyOf(workload);
  const classes = useQuery(priorityClassesQuery).data?.items ?? [];
  const [className, setClassName] = useState(workload.spec.preemptionPriorityClassName ?? "");
  const [priority, setPriority] = useState("");
  const least = workload.status?.priority ?? workload.spec.priority ?? 0;
  // The server refuses one below the workload's priority.
  const higher = classes.filter(({ value }) => value >= least).map(({ metadata, value }) => ({ value: metadata.name, words: `${metadata.name} (${value})` }));
  return (
    <ActionDialog
      verb="Protect"
      subject={key}
      words={WORDS}
      own={own}
      targets={[{ key }]}
      command={({ reason }) => protectCommand(key, { className, priority }, reason)}
      run={(target, { reason }) => protect(target, { className, priority }, reason)}
      onClose={onClose}
    >
      <FieldGrid wide>
        <SelectField
          label="Preemption priority class"
          value={className}
          options={[{ value: "", words: `none: its own priority (${least})` }, ...higher]}
          onChange={(event) => setClassName(event.target.value)}
        />
        <TextField label="Or a preemption priority" inputMode="numeric" placeholder={`at least ${least}`} value={priority} onChange={(event) => setPriority(event.target.value)} />
      </FieldGrid>
    </ActionDialog>
  );
}
