// Beside the rows: new arrivals above them, and the actions that apply to the selection below.
import { useState } from "react";

import { ActionDialog } from "@/components/ui/action-dialog";
import { Button } from "@/components/ui/button";
import { HeldOrderNote } from "@/components/ui/held-order-note";
import { NewRowsButton } from "@/components/ui/new-rows-button";
import { announce } from "@/components/ui/notices";
import { Timestamp } from "@/components/ui/timestamp";
import { runAll } from "@/lib/actions";
import { problemOf } from "@/lib/api/problem";
import type { SelectedWorkload } from "@/lib/api/types";
import type { HeldOrder } from "@/lib/hooks/use-held-order";
import { useIdentity } from "@/lib/hooks/use-session";
import { refusalFor } from "@/lib/permissions";

import { actOnMany, selectAll } from "../api/workload-rows";
import { act, partsOf } from "../api/workloads";
import { ACTION_WORDS, UNDOES, WORKLOAD_ACTIONS, type WorkloadAction, commandFor, stageRefusal } from "../model/actions";
import { countWords, type Grid } from "../model/grid";
import { type FrozenSet, selectionRefusal } from "../model/selection";
import styles from "./workloads-page.module.css";

export interface ListBarProps {
  grid: Grid;
  waiting: number;
  held: HeldOrder;
  chosen: SelectedWorkload[];
  frozen: FrozenSet | null;
  /** How many match; undefined before that is known. */
  total: number | undefined;
  onLetIn: () => void;
  onAll: (all: FrozenSet) => void;
  onClear: () => void;
}

export function ListBar({ grid, waiting, held, chosen, frozen, total, onLetIn, onAll, onClear }: ListBarProps) {
  const [action, setAction] = useState<WorkloadAction | null>(null);
  const gpus = chosen.reduce((sum, one) => sum + one.gpus, 0);
  return (
    <>
      <div className={styles.new}>
        <NewRowsButton count={waiting} onShow={onLetIn} />
        <HeldOrderNote held={held} />
      </div>
      {chosen.length > 0 && (
        <div className={styles.bar} role="group" aria-label="Actions on the selection">
          <strong className="number">
            {chosen.length.toLocaleString("en")} selected, {gpus.toLocaleString("en")} GPU
          </strong>
          {frozen && (
            <span>
              as of <Timestamp at={new Date(frozen.at).toISOString()} />
            </span>
          )}
          {WORKLOAD_ACTIONS.map((name) => {
            const able = chosen.filter((one) => stageRefusal(name, one) === undefined).length;
            return (
              able > 0 && (
                <Button key={name} look={name === "cancel" ? "danger" : "plain"} onClick={() => setAction(name)}>
                  {ACTION_WORDS[name].verb}
                  {able < chosen.length && ` ${able.toLocaleString("en")} of ${chosen.length.toLocaleString("en")}`}
                </Button>
              )
            );
          })}
          {total !== undefined && total > chosen.length && <AllButton grid={grid} total={total} onAll={onAll} />}
          <Button look="quiet" onClick={onClear}>
            Clear selection
          </Button>
        </div>
      )}
      {action !== null && <BulkDialog action={action} chosen={chosen} onClose={() => setAction(null)} />}
    </>
  );
}

/** Selects all that match, those that are not loaded too; what arrives later is no part of the set. */
function AllButton({ grid, total, onAll }: { grid: Grid; total: number; onAll: (all: FrozenSet) => void }) {
  const [isReading, setReading] = useState(false);
  const read = async () => {
    setReading(true);
    try {
      onAll({ items: await selectAll(grid.filter, grid.order), at: Date.now() });
    } catch (error) {
      announce(problemOf(error).detail, "bad");
    } finally {
      setReading(false);
    }
  };
  return (
    <Button look="quiet" refusal={isReading ? "In progress…" : selectionRefusal(total)} onClick={() => void read()}>
      Select all {countWords(total)} matching
    </Button>
  );
}

function BulkDialog({ action, chosen, onClose }: { action: WorkloadAction; chosen: SelectedWorkload[]; onClose: () => void }) {
  const identity = useIdentity();
  // The set is frozen when the dialog opens: what arrives or changes later is not touched.
  const [set] = useState(chosen);
  const [targets] = useState(() =>
    set.map((one) => ({
      key: one.workload,
      refusal: refusalFor(identity, { on: "workload", namespace: partsOf(one.workload).namespace }) ?? stageRefusal(action, one),
    })),
  );
  const able = targets.filter((target) => target.refusal === undefined).map((target) => target.key);
  const words = ACTION_WORDS[action];
  const undoing = UNDOES[action];
  return (
    <ActionDialog
      verb={words.verb}
      subject={targets.length === 1 ? (targets[0]?.key ?? "") : `${targets.length.toLocaleString("en")} workloads`}
      words={words.words}
      danger={words.danger}
      expires={words.expires}
      own={identity !== undefined && set.every(({ owner }) => owner === identity.name)}
      targets={targets}
      command={(input) => commandFor(action, able, input)}
      run={(key, input) => act(action, key, input)}
      together={async (keys, input) => {
        const wanted = new Set(keys);
        const those = set.filter(({ workload }) => wanted.has(workload));
        if (input.reason !== "") return actOnMany(action, those, input);
        // One's own need no reason, which a request for many has to have.
        const outcomes = new Map<string, { error?: unknown }>();
        await runAll(keys, (key) => act(action, key, input), (key, outcome) => outcomes.set(key, outcome));
        return keys.map((key) => outcomes.get(key) ?? {});
      }}
      undo={undoing && ((keys) => void undo(action, undoing, set, keys))}
      onClose={onClose}
    />
  );
}

async function undo(action: WorkloadAction, undoing: WorkloadAction, set: readonly SelectedWorkload[], keys: string[]): Promise<void> {
  const wanted = new Set(keys);
  const input = { reason: `undo of ${action}`, expirySeconds: 0 };
  try {
    const outcomes = await actOnMany(undoing, set.filter(({ workload }) => wanted.has(workload)), input);
    const done = outcomes.filter(({ error }) => error === undefined).length;
    announce(`${ACTION_WORDS[action].verb} undone: ${done} of ${keys.length}`, done < keys.length ? "bad" : "good");
  } catch (error) {
    announce(problemOf(error).detail, "bad");
  }
}
