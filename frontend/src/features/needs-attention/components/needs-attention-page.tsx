// The page of stuck workloads: their causes, and actions on one or many of them.
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { Button } from "@/components/ui/button";
import { Choices } from "@/components/ui/choices";
import { Card, Page } from "@/components/ui/layout";
import { Empty, PartialNote } from "@/components/ui/states";
import { View } from "@/components/ui/view";
import { causesQuery } from "@/lib/api/attention";
import type { StuckWorkloads } from "@/lib/api/types";
import { useUrl } from "@/lib/hooks/use-url";

import { stuckWorkloadsQuery } from "../api/stuck-workloads";
import { FILTER_NAMES, causeWords, filtersIn, keyOf } from "../model/stuck-workloads";
import { BatchDialog } from "./batch-dialog";
import { BatchRecord } from "./batch-record";
import { CauseList } from "./cause-list";
import { StuckWorkloadPanel } from "./stuck-workload-panel";
import { StuckWorkloadTable } from "./stuck-workload-table";
import { type AskedBatch, BulkActionBar } from "./bulk-action-bar";
import { StuckFilterBar } from "./stuck-filters";
import { WebhooksView } from "./webhooks-view";
import styles from "./needs-attention.module.css";

export function NeedsAttentionPage() {
  const url = useUrl();
  return (
    <Page title="Needs attention">
      <Choices
        label="Views"
        value={url.get("view") === "webhooks" ? "webhooks" : "alerts"}
        onChange={(view) => url.change({ view: view === "webhooks" ? view : "", webhook: "" }, "replace")}
        choices={[
          { key: "alerts", label: "Alerts", content: <Alerts /> },
          { key: "webhooks", label: "Webhooks", content: <WebhooksView /> },
        ]}
      />
    </Page>
  );
}

function Alerts() {
  const url = useUrl();
  const filters = filtersIn(url);
  const [selection, setSelection] = useState<Record<string, true>>({});
  const [asked, setAsked] = useState<AskedBatch | null>(null);
  const stuck = useQuery(stuckWorkloadsQuery(filters));
  const causes = useQuery(causesQuery);
  const narrowed = FILTER_NAMES.some((name) => filters[name] !== "");
  return (
    <div className={styles.view}>
      <View query={causes} rows={3}>
        {({ causes: found }) => (
          <Card>
            <CauseList causes={found} />
          </Card>
        )}
      </View>
      <StuckFilterBar filters={filters} onChange={(changes) => url.change(changes, "replace")} />
      <View query={stuck} rows={8}>
        {(found) => (
          <>
            <Causes counts={found.causes} chosen={filters.cause} onChange={(cause) => url.change({ cause }, "replace")} />
            <Card>
              {found.items.length === 0 ? (
                <NoWorkloads narrowed={narrowed} />
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
        <StuckWorkloadPanel key={url.get("panel")} workloadKey={url.get("panel")} onClose={() => url.change({ panel: "" }, "replace")} />
      )}
    </div>
  );
}

interface CasesProps {
  found: StuckWorkloads;
  selection: Record<string, true>;
  onSelection: (selection: Record<string, true>) => void;
  onAsked: (asked: AskedBatch) => void;
}

function Cases({ found, selection, onSelection, onAsked }: CasesProps) {
  const url = useUrl();
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
      <StuckWorkloadTable
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

function NoWorkloads({ narrowed }: { narrowed: boolean }) {
  if (narrowed) return <Empty title="No workloads match">Change or clear the filters.</Empty>;
  return <Empty title="No stuck workloads">Inactive, retrying and held workloads appear here.</Empty>;
}
