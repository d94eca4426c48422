// The actions that apply to one workload; the others stand in a menu with the reason why not.
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
import { ACTION_WORDS, WORKLOAD_ACTIONS, type WorkloadAction, commandFor, hasEnded, stageOf, stageRefusal, verbOf } from "../model/actions";
import { keyOf } from "../model/list-anchor";
import styles from "./workload-page.module.css";

export function WorkloadActions({ workload }: { workload: WorkloadObject }) {
  const identity = useIdentity();
  const [action, setAction] = useState<WorkloadAction | null>(null);
  const key = keyOf(workload);
  const stage = stageOf(workload);
  const role = refusalFor(identity, { on: "workload", namespace: workload.metadata.namespace ?? "" });
  const able = WORKLOAD_ACTIONS.filter((name) => stageRefusal(name, stage) === undefined);
  const others = WORKLOAD_ACTIONS.filter((name) => !able.includes(name));
  return (
    <div className={styles.row} role="group" aria-label="Actions">
      {hasEnded(stage) && (
        <RouterLink className={styles.resubmit} to={`/submit?from=${encodeURIComponent(key)}`}>
          Resubmit with changes
        </RouterLink>
      )}
      {able.map((name) => (
        <Button key={name} look={name === "cancel" ? "danger" : "plain"} refusal={role} onClick={() => setAction(name)}>
          {verbOf(name, stage)}
        </Button>
      ))}
      {others.length > 0 && !hasEnded(stage) && (
        <Menu
          heading="Not available now"
          trigger={
            <Button look="quiet" shape="icon" aria-label="Other actions">
              <MoreHorizontal aria-hidden="true" />
            </Button>
          }
          items={others.map((name) => ({
            key: name,
            words: `${ACTION_WORDS[name].verb}: ${stageRefusal(name, stage)?.toLowerCase() ?? ""}`,
            disabled: true,
            onSelect: () => undefined,
          }))}
        />
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
