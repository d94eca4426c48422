// The action that a workload's phase calls for, and its end; the others stand in a menu, with the reason why not where one does not apply.
import { MoreHorizontal } from "lucide-react";
import { useState } from "react";

import { ActionDialog } from "@/components/ui/action-dialog";
import { Button } from "@/components/ui/button";
import { Menu } from "@/components/ui/menu";
import { RouterLink } from "@/components/ui/router-link";
import type { WorkloadObject } from "@/lib/api/types";
import { useIdentity } from "@/lib/hooks/use-session";
import { refusalFor } from "@/lib/permissions";

import { act } from "../api/workloads";
import { ACTION_WORDS, WORKLOAD_ACTIONS, type WorkloadAction, commandFor, hasEnded, mainAction, stageOf, stageRefusal, verbOf } from "../model/actions";
import { keyOf } from "../model/list-anchor";
import styles from "./workload-page.module.css";

export function WorkloadActions({ workload }: { workload: WorkloadObject }) {
  const identity = useIdentity();
  const [action, setAction] = useState<WorkloadAction | null>(null);
  const key = keyOf(workload);
  const stage = stageOf(workload);
  const role = refusalFor(identity, { on: "workload", namespace: workload.metadata.namespace ?? "" });
  const main = mainAction(stage);
  const others = WORKLOAD_ACTIONS.filter((name) => name !== main && name !== "cancel");
  return (
    <div className={styles.row} role="group" aria-label="Actions">
      {hasEnded(stage) && (
        <RouterLink className={styles.resubmit} to={`/submit?from=${encodeURIComponent(key)}`}>
          Resubmit with changes
        </RouterLink>
      )}
      {!hasEnded(stage) && (
        <Button refusal={role} onClick={() => setAction(main)}>
          {verbOf(main, stage)}
        </Button>
      )}
      {!hasEnded(stage) && (
        <Menu
          heading="Other actions"
          trigger={
            <Button look="quiet" shape="icon" aria-label="Other actions">
              <MoreHorizontal aria-hidden="true" />
            </Button>
          }
          items={others.map((name) => ({
            key: name,
            words: wordsOf(name, stageRefusal(name, stage) ?? role),
            disabled: (stageRefusal(name, stage) ?? role) !== undefined,
            onSelect: () => setAction(name),
          }))}
        />
      )}
      {!hasEnded(stage) && (
        <Button look="danger" refusal={role} onClick={() => setAction("cancel")}>
          {ACTION_WORDS.cancel.verb}
        </Button>
      )}
      {action !== null && (
        <ActionDialog
          verb={verbOf(action, stage)}
          subject={key}
          words={ACTION_WORDS[action].words}
          danger={ACTION_WORDS[action].danger}
          expires={ACTION_WORDS[action].expires}
          own={identity !== undefined && workload.status?.owner?.user === identity.name}
          targets={[{ key }]}
          command={(input) => commandFor(action, [key], input)}
          run={(target, input) => act(action, target, input)}
          onClose={() => setAction(null)}
        />
      )}
    </div>
  );
}

function wordsOf(action: WorkloadAction, refusal: string | undefined): string {
  const { verb } = ACTION_WORDS[action];
  return refusal === undefined ? verb : `${verb}: ${refusal.charAt(0).toLowerCase()}${refusal.slice(1)}`;
}
