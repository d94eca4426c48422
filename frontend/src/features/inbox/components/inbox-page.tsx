// The admin's inbox: who is inactive, backs off or is held, why, and what would help.
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { Button } from "@/components/ui/button";
import { Card, Page } from "@/components/ui/layout";
import { Empty, PartialNote } from "@/components/ui/states";
import { View } from "@/components/ui/view";
import type { Clinic } from "@/lib/api/types";
import { useUrl } from "@/lib/hooks/use-url";

import { inboxQuery } from "../api/inbox";
import { FILTER_NAMES, causeWords, filtersIn, keyOf } from "../model/cases";
import { BatchDialog } from "./batch-dialog";
import { BatchRecord } from "./batch-record";
import { CasePanel } from "./case-panel";
import { CaseTable } from "./case-table";
import { type AskedBatch, InboxBar } from "./inbox-bar";
import { InboxFilterBar } from "./inbox-filters";
import styles from "./inbox.module.css";

export function InboxPage() {
  const url = useUrl();
  const filters = filtersIn(url);
  const [selection, setSelection] = useState<Record<string, true>>({});
  const [asked, setAsked] = useState<AskedBatch | null>(null);
  const inbox = useQuery(inboxQuery(filters));
  const narrowed = FILTER_NAMES.some((name) => filters[name] !== "");
  return (
    <Page title="Inbox" lead="Workloads that are inactive, back off or are held: why, and what would help.">
      <InboxFilterBar filters={filters} onChange={(changes) => url.change(changes, "replace")} />
      <View query={inbox} rows={8}>
        {(found) => (
          <>
            <Causes counts={found.causes} chosen={filters.cause} onChange={(cause) => url.change({ cause }, "replace")} />
            <Card>
              {found.items.length === 0 ? (
                <NobodyHere narrowed={narrowed} />
              ) : (
                <Cases found={found} selection={selection} onSelection={setSelection} onAsked={setAsked} />
              )}
            </Card>
          </>
        )}
      </View>
      {/* Beside the list and not in it: what it did is still to be read when it has emptied the list. */}
      {asked !== null && (
        <BatchDialog action={asked.action} cases={asked.cases} onClose={() => setAsked(null)} onDone={() => setSelection({})} onRecord={(batch) => url.change({ batch })} />
      )}
      {url.get("batch") !== "" && <BatchRecord key={url.get("batch")} batch={url.get("batch")} onClose={() => url.change({ batch: "" }, "replace")} />}
      {url.get("panel") !== "" && (
        <CasePanel key={url.get("panel")} workloadKey={url.get("panel")} onClose={() => url.change({ panel: "" }, "replace")} />
      )}
    </Page>
  );
}

interface CasesProps {
  found: Clinic;
  selection: Record<string, true>;
  onSelection: (selection: Record<string, true>) => void;
  onAsked: (asked: AskedBatch) => void;
}

function Cases({ found, selection, onSelection, onAsked }: CasesProps) {
  const url = useUrl();
  return (
    <>
      <InboxBar
        cases={found.items}
        selection={selection}
        onAsked={onAsked}
        onAll={() => onSelection(Object.fromEntries(found.items.map((one) => [keyOf(one), true as const])))}
        onClear={() => onSelection({})}
      />
      {found.more > 0 && <PartialNote>{found.more} more are not listed; narrow the list to see them.</PartialNote>}
      <CaseTable
        rows={found.items}
        opened={url.get("panel")}
        onOpen={(row) => url.change({ panel: keyOf(row) }, url.get("panel") === "" ? "push" : "replace")}
        selection={selection}
        onSelection={onSelection}
      />
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

function NobodyHere({ narrowed }: { narrowed: boolean }) {
  if (narrowed) return <Empty title="Nobody matches these filters">Loosen or clear them to see more.</Empty>;
  return <Empty title="Nobody needs help">Workloads that are deactivated, back off or are held appear here by themselves.</Empty>;
}
