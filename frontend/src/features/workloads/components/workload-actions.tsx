// The action that a workload's phase calls for, and its end; the others stand in a menu, with the reason why not where one does not apply.
import { useRouter } from "@tanstack/react-router";
import { MoreHorizontal } from "lucide-react";
import { useState } from "react";

import { ActionDialog } from "@/components/ui/action-dialog";
import { Button } from "@/components/ui/button";
import { Menu } from "@/components/ui/menu";
import { RouterLink } from "@/components/ui/router-link";
import type { WorkloadObject } from "@/lib/api/types";
import { PHONE, useMedia } from "@/lib/hooks/use-media";
import { useIdentity } from "@/lib/hooks/use-session";
import { refusalFor } from "@/lib/permissions";

import { act } from "../api/workloads";
import { ACTION_WORDS, WORKLOAD_ACTIONS, type WorkloadAction, canEdit, canProtect, commandFor, hasEnded, mainAction, simulatorAddress, stageOf, stageRefusal, verbOf } from "../model/actions";
import { keyOf } from "../model/list-anchor";
import { ProtectDialog } from "./protect-dialog";
import styles from "./workload-page.module.css";

const EDIT = "Edit and resubmit";
const NOT_PLACED = "Not admitted";

export function WorkloadActions({ workload }: { workload: WorkloadObject }) {
  const identity = useIdentity();
  const { history } = useRouter();
  const isNarrow = useMedia(PHONE);
  const [action, setAction] = useState<WorkloadAction | "protect" | null>(null);
  const key = keyOf(workload);
  const stage = stageOf(workload);
  const again = `/submit?from=${encodeURIComponent(key)}`;
  const role = refusalFor(identity, { on: "workload", namespace: workload.metadata.namespace ?? "" });
  const own = identity !== undefined && workload.status?.owner?.user === identity.name;
  if (hasEnded(stage)) return <Again to={again} />;
  const main = mainAction(stage);
  const others = WORKLOAD_ACTIONS.filter((name) => name !== main && (isNarrow || name !== "cancel"));
  // On phones all but the first stand in the menu.
  const moved = [
    ...(isNarrow ? [{ key: "simulate", words: "Simulate a change", onSelect: () => history.push(simulatorAddress(key)) }] : []),
    ...(isNarrow && canEdit(stage) ? [{ key: "edit", words: EDIT, onSelect: () => history.push(again) }] : []),
    ...(isNarrow || !canProtect(stage) ? [itemOf("protect", "Protect", canProtect(stage) ? role : NOT_PLACED, () => setAction("protect"))] : []),
  ];
  return (
    <div className={styles.row} role="group" aria-label="Actions">
      {!isNarrow && canEdit(stage) && (
        <RouterLink className={styles.edit} to={again}>
          {EDIT}
        </RouterLink>
      )}
      {!isNarrow && canProtect(stage) && (
        <Button refusal={role} onClick={() => setAction("protect")}>
          Protect
        </Button>
      )}
      <Button refusal={role} onClick={() => setAction(main)}>
        {verbOf(main, stage)}
      </Button>
      <Menu
        heading="Other actions"
        trigger={
          <Button look="quiet" shape="icon" aria-label="Other actions">
            <MoreHorizontal aria-hidden="true" />
          </Button>
        }
        items={[...moved, ...others.map((name) => itemOf(name, ACTION_WORDS[name].verb, stageRefusal(name, stage) ?? role, () => setAction(name)))]}
      />
      {!isNarrow && (
        <Button look="danger" refusal={role} onClick={() => setAction("cancel")}>
          {ACTION_WORDS.cancel.verb}
        </Button>
      )}
      {action === "protect" && <ProtectDialog workload={workload} own={own} onClose={() => setAction(null)} />}
      {action !== null && action !== "protect" && <Dialog action={action} own={own} workload={workload} onClose={() => setAction(null)} />}
    </div>
  );
}

/** What has ended can only be submitted again. */
function Again({ to }: { to: string }) {
  return (
    <div className={styles.row} role="group" aria-label="Actions">
      <RouterLink className={styles.resubmit} to={to}>
        Resubmit with changes
      </RouterLink>
    </div>
  );
}

function itemOf(key: string, verb: string, refusal: string | undefined, onSelect: () => void) {
  return { key, words: wordsOf(verb, refusal), disabled: refusal !== undefined, onSelect };
}

interface DialogProps {
  action: WorkloadAction;
  own: boolean;
  workload: WorkloadObject;
  onClose: () => void;
}

function Dialog({ action, own, workload, onClose }: DialogProps) {
  const key = keyOf(workload);
  const { words, danger, expires } = ACTION_WORDS[action];
  return (
    <ActionDialog
      {...{ words, danger, expires, own, onClose }}
      verb={verbOf(action, stageOf(workload))}
      subject={key}
      targets={[{ key }]}
      command={(input) => commandFor(action, [key], input)}
      run={(target, input) => act(action, target, input)}
    />
  );
}

function wordsOf(verb: string, refusal: string | undefined): string {
  return refusal === undefined ? verb : `${verb}: ${refusal.charAt(0).toLowerCase()}${refusal.slice(1)}`;
}
