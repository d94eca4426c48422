// Above the rows: how many there are, and what to do with the chosen ones.
import { Button } from "@/components/ui/button";
import type { StuckWorkload } from "@/lib/api/types";
import { useIdentity } from "@/lib/hooks/use-session";
import { refusalFor } from "@/lib/permissions";

import { ACTION_WORDS, BULK_ACTIONS, type BulkActionVerb, keyOf } from "../model/stuck-workloads";
import styles from "./needs-attention.module.css";

export interface AskedBatch {
  action: BulkActionVerb;
  cases: StuckWorkload[];
}

export interface BulkActionBarProps {
  cases: StuckWorkload[];
  selection: Record<string, true>;
  onAsked: (asked: AskedBatch) => void;
  onAll: () => void;
  onClear: () => void;
}

export function BulkActionBar({ cases, selection, onAsked, onAll, onClear }: BulkActionBarProps) {
  const identity = useIdentity();
  const chosen = cases.filter((found) => selection[keyOf(found)]);
  const [first] = chosen;
  const role = first && refusalFor(identity, { on: "workload", namespace: first.workload.split("/")[0] ?? "" });
  return (
    <div className={styles.bar}>
      {chosen.length === 0 ? (
        <span className="number">{cases.length === 1 ? "1 workload" : `${cases.length} workloads`}</span>
      ) : (
        <>
          <strong className="number">{chosen.length} selected</strong>
          {BULK_ACTIONS.map((action) => (
            <Button key={action} refusal={role} onClick={() => onAsked({ action, cases: chosen })}>
              {ACTION_WORDS[action].verb}
            </Button>
          ))}
        </>
      )}
      <span className={styles.grow} />
      {chosen.length < cases.length && (
        <Button look="quiet" onClick={onAll}>
          Select all {cases.length}
        </Button>
      )}
      {chosen.length > 0 && (
        <Button look="quiet" onClick={onClear}>
          Clear selection
        </Button>
      )}
    </div>
  );
}
