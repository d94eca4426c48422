// The action buttons of one workload; unavailable ones give the reason.
import { useState } from "react";

import { ActionDialog } from "@/components/ui/action-dialog";
import { Button } from "@/components/ui/button";
import type { WorkloadObject } from "@/lib/api/types";
import { useIdentity } from "@/lib/hooks/use-session";
import { refusalFor } from "@/lib/permissions";

import { act } from "../api/workloads";
import { ACTION_WORDS, WORKLOAD_ACTIONS, type WorkloadAction, commandFor, stageOf, stageRefusal } from "../model/actions";
import { keyOf } from "../model/list-anchor";
import styles from "./workload-page.module.css";

export function WorkloadActions({ workload }: { workload: WorkloadObject }) {
  const identity = useIdentity();
  const [action, setAction] = useState<WorkloadAction | null>(null);
  const key = keyOf(workload);
  const role = refusalFor(identity, { on: "workload", namespace: workload.metadata.namespace ?? "" });
  return (
    <div className={styles.row} role="group" aria-label="Actions">
      {WORKLOAD_ACTIONS.map((name) => (
        <Button key={name} refusal={role ?? stageRefusal(name, stageOf(workload))} onClick={() => setAction(name)}>
          {ACTION_WORDS[name].verb}
        </Button>
      ))}
      {action !== null && (
        <ActionDialog
          verb={ACTION_WORDS[action].verb}
          subject={key}
          words={ACTION_WORDS[action].words}
          danger={ACTION_WORDS[action].danger}
          expires={ACTION_WORDS[action].expires}
          targets={[{ key }]}
          command={(input) => commandFor(action, [key], input)}
          run={(target, input) => act(action, target, input)}
          onClose={() => setAction(null)}
        />
      )}
    </div>
  );
}
