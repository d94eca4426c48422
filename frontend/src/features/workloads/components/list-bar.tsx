// Above the rows: counts, new arrivals, and actions on the selection.
import { ArrowUp } from "lucide-react";
import { useState } from "react";

import { ActionDialog } from "@/components/ui/action-dialog";
import { Button } from "@/components/ui/button";
import type { WorkloadObject } from "@/lib/api/types";
import { useIdentity } from "@/lib/hooks/use-session";
import { refusalFor } from "@/lib/permissions";

import { act } from "../api/workloads";
import { ACTION_WORDS, WORKLOAD_ACTIONS, type WorkloadAction, commandFor, stageRefusal } from "../model/actions";
import { keyOf } from "../model/list-anchor";
import styles from "./workloads-page.module.css";

export interface ListBarProps {
  shown: WorkloadObject[];
  more: boolean;
  waiting: number;
  selection: Record<string, true>;
  onLetIn: () => void;
  onClear: () => void;
}

export function ListBar({ shown, more, waiting, selection, onLetIn, onClear }: ListBarProps) {
  const [action, setAction] = useState<WorkloadAction | null>(null);
  const chosen = shown.filter((workload) => selection[keyOf(workload)]);
  return (
    <div className={styles.bar}>
      {chosen.length === 0 ? (
        <span className="number">
          {more ? `First ${shown.length}` : `${shown.length} ${shown.length === 1 ? "workload" : "workloads"}`}
        </span>
      ) : (
        <>
          <strong className="number">{chosen.length} selected</strong>
          {WORKLOAD_ACTIONS.map((name) => (
            <Button key={name} onClick={() => setAction(name)}>
              {ACTION_WORDS[name].verb}
            </Button>
          ))}
          <Button look="quiet" onClick={onClear}>
            Clear selection
          </Button>
        </>
      )}
      <span className={styles.grow} />
      <span aria-live="polite">
        {waiting > 0 && (
          <Button className={styles.new} onClick={onLetIn}>
            <ArrowUp aria-hidden="true" />+{waiting} new
          </Button>
        )}
      </span>
      {action !== null && <BulkDialog action={action} chosen={chosen} onClose={() => setAction(null)} />}
    </div>
  );
}

function BulkDialog({ action, chosen, onClose }: { action: WorkloadAction; chosen: WorkloadObject[]; onClose: () => void }) {
  const identity = useIdentity();
  // The set is frozen when the dialog opens: what arrives or changes later is not touched.
  const [targets] = useState(() =>
    chosen.map((workload) => ({
      key: keyOf(workload),
      refusal: refusalFor(identity, { on: "workload", namespace: workload.metadata.namespace ?? "" }) ?? stageRefusal(action, workload),
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
      targets={targets}
      command={(input) => commandFor(action, able, input)}
      run={(key, input) => act(action, key, input)}
      onClose={onClose}
    />
  );
}
