// Beside the rows: new arrivals above them, and the actions that apply to the selection below.
import { useState } from "react";

import { ActionDialog } from "@/components/ui/action-dialog";
import { Button } from "@/components/ui/button";
import { NewRowsButton } from "@/components/ui/new-rows-button";
import type { WorkloadRow } from "@/lib/api/types";
import { useIdentity } from "@/lib/hooks/use-session";
import { refusalFor } from "@/lib/permissions";

import { act } from "../api/workloads";
import { ACTION_WORDS, WORKLOAD_ACTIONS, type WorkloadAction, commandFor, stageRefusal } from "../model/actions";
import { rowKey } from "../model/list-anchor";
import styles from "./workloads-page.module.css";

export interface ListBarProps {
  waiting: number;
  chosen: WorkloadRow[];
  onLetIn: () => void;
  onClear: () => void;
}

export function ListBar({ waiting, chosen, onLetIn, onClear }: ListBarProps) {
  const [action, setAction] = useState<WorkloadAction | null>(null);
  const gpus = chosen.reduce((sum, row) => sum + row.gpus, 0);
  return (
    <>
      <div className={styles.new}>
        <NewRowsButton count={waiting} onShow={onLetIn} />
      </div>
      {chosen.length > 0 && (
        <div className={styles.bar} role="group" aria-label="Actions on the selection">
          <strong className="number">
            {chosen.length} selected, {gpus.toLocaleString("en")} GPU
          </strong>
          {WORKLOAD_ACTIONS.map((name) => {
            const able = chosen.filter((row) => stageRefusal(name, row) === undefined).length;
            return (
              able > 0 && (
                <Button key={name} look={name === "cancel" ? "danger" : "plain"} onClick={() => setAction(name)}>
                  {ACTION_WORDS[name].verb}
                  {able < chosen.length && ` ${able} of ${chosen.length}`}
                </Button>
              )
            );
          })}
          <Button look="quiet" onClick={onClear}>
            Clear selection
          </Button>
        </div>
      )}
      {action !== null && <BulkDialog action={action} chosen={chosen} onClose={() => setAction(null)} />}
    </>
  );
}

function BulkDialog({ action, chosen, onClose }: { action: WorkloadAction; chosen: WorkloadRow[]; onClose: () => void }) {
  const identity = useIdentity();
  // The set is frozen when the dialog opens: what arrives or changes later is not touched.
  const [targets] = useState(() =>
    chosen.map((row) => ({
      key: rowKey(row),
      refusal: refusalFor(identity, { on: "workload", namespace: row.namespace }) ?? stageRefusal(action, row),
    })),
  );
  const able = targets.filter((target) => target.refusal === undefined).map((target) => target.key);
  const words = ACTION_WORDS[action];
  return (
    <ActionDialog
      verb={words.verb}
      subject={targets.length === 1 ? (targets[0]?.key ?? "") : `${targets.length} workloads`}
      words={words.words}
      danger={words.danger}
      expires={words.expires}
      own={identity !== undefined && chosen.every(({ owner }) => owner === identity.name)}
      targets={targets}
      command={(input) => commandFor(action, able, input)}
      run={(key, input) => act(action, key, input)}
      onClose={onClose}
    />
  );
}
