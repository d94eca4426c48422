// Stuck workloads of a cause, or those that filters find: each can be opened, and many acted on at once.
import { useQuery } from "@tanstack/react-query";

import { Button } from "@/components/ui/button";
import { HeldOrderNote } from "@/components/ui/held-order-note";
import { Empty, PartialNote } from "@/components/ui/states";
import { View } from "@/components/ui/view";
import type { Phase, StuckWorkloads } from "@/lib/api/types";
import { inHeldOrder } from "@/lib/held-order";
import { useHeldOrder } from "@/lib/hooks/use-held-order";
import { useUrl } from "@/lib/hooks/use-url";

import { stuckWorkloadsQuery } from "../api/stuck-workloads";
import { FILTER_NAMES, causeWords, filtersIn, keyOf } from "../model/stuck-workloads";
import { type AskedBatch, BulkActionBar } from "./bulk-action-bar";
import styles from "./needs-attention.module.css";
import { StuckFilterBar } from "./stuck-filters";
import { StuckWorkloadTable } from "./stuck-workload-table";

export interface StuckListProps {
  /** The phase of the workloads of the cause; undefined for all. */
  phase?: Phase | undefined;
  selection: Record<string, true>;
  onSelection: (selection: Record<string, true>) => void;
  onAsked: (asked: AskedBatch) => void;
}

export function StuckList({ phase, ...chosen }: StuckListProps) {
  const url = useUrl();
  const filters = filtersIn(url);
  const stuck = useQuery(stuckWorkloadsQuery(filters, phase));
  const narrowed = FILTER_NAMES.some((name) => filters[name] !== "");
  return (
    <div className={styles.stuck}>
      <StuckFilterBar filters={filters} onChange={(changes) => url.change(changes, "replace")} />
      <View query={stuck} rows={8}>
        {(found) => (
          <>
            <Causes counts={found.causes} chosen={filters.cause} onChange={(cause) => url.change({ cause }, "replace")} />
            {found.items.length === 0 ? <NoWorkloads narrowed={narrowed} /> : <Cases found={found} asked={JSON.stringify([filters, phase])} at={stuck.dataUpdatedAt} {...chosen} />}
          </>
        )}
      </View>
    </div>
  );
}

interface CasesProps extends Omit<StuckListProps, "phase"> {
  found: StuckWorkloads;
  /** What was asked for, and when this was the answer. */
  asked: string;
  at: number;
}

function Cases({ found, asked, at, selection, onSelection, onAsked }: CasesProps) {
  const url = useUrl();
  const held = useHeldOrder(found.items.map(keyOf), { asked, at, isOn: true });
  return (
    <>
      <BulkActionBar
        cases={found.items}
        selection={selection}
        onAsked={onAsked}
        onAll={() => onSelection(Object.fromEntries(found.items.map((one) => [keyOf(one), true as const])))}
        onClear={() => onSelection({})}
      />
      {found.more > 0 && <PartialNote>{found.more} more are not listed; filter the list to see them.</PartialNote>}
      <div className={styles.held} {...held.handlers}>
        <StuckWorkloadTable
          rows={inHeldOrder(found.items, keyOf, held.places)}
          opened={url.get("panel")}
          onOpen={(row) => url.change({ panel: keyOf(row) }, url.get("panel") === "" ? "push" : "replace")}
          selection={selection}
          onSelection={onSelection}
        />
        <HeldOrderNote held={held} />
      </div>
    </>
  );
}

interface CausesProps {
  counts: Record<string, number>;
  chosen: string;
  onChange: (cause: string) => void;
}

function Causes({ counts, chosen, onChange }: CausesProps) {
  return (
    <div className={styles.causes} role="group" aria-label="Show causes">
      {Object.entries(counts).map(([cause, count]) => (
        <Button key={cause} aria-pressed={chosen === cause} onClick={() => onChange(chosen === cause ? "" : cause)}>
          {causeWords(cause)} <span className="number">{count}</span>
        </Button>
      ))}
      {chosen !== "" && (
        <Button look="quiet" onClick={() => onChange("")}>
          Show all causes
        </Button>
      )}
    </div>
  );
}

function NoWorkloads({ narrowed }: { narrowed: boolean }) {
  if (narrowed) return <Empty title="No workloads match">Change or clear the filters.</Empty>;
  return <Empty title="No stuck workloads">Inactive, retrying and held workloads appear here.</Empty>;
}
