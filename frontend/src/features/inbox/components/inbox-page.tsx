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
import { CasePanel } from "./case-panel";
import { CaseTable } from "./case-table";
import { InboxBar } from "./inbox-bar";
import styles from "./inbox.module.css";

export function InboxPage() {
  const url = useUrl();
  const filters = filtersIn(url);
  const inbox = useQuery(inboxQuery(filters));
  const narrowed = FILTER_NAMES.some((name) => filters[name] !== "");
  return (
    <Page title="Inbox" lead="Workloads that are inactive, back off or are held: why, and what would help.">
      <View query={inbox} rows={8}>
        {(found) => (
          <>
            <Causes counts={found.causes} chosen={filters.cause} onChange={(cause) => url.change({ cause }, "replace")} />
            <Card>
              {found.items.length === 0 ? <NobodyHere narrowed={narrowed} /> : <Cases key={JSON.stringify(filters)} found={found} />}
            </Card>
          </>
        )}
      </View>
      {url.get("panel") !== "" && (
        <CasePanel key={url.get("panel")} workloadKey={url.get("panel")} onClose={() => url.change({ panel: "" }, "replace")} />
      )}
    </Page>
  );
}

function Cases({ found }: { found: Clinic }) {
  const url = useUrl();
  const [selection, setSelection] = useState<Record<string, true>>({});
  return (
    <>
      <InboxBar
        cases={found.items}
        selection={selection}
        onAll={() => setSelection(Object.fromEntries(found.items.map((one) => [keyOf(one), true as const])))}
        onClear={() => setSelection({})}
      />
      {found.more > 0 && <PartialNote>{found.more} more are not listed; narrow the list to see them.</PartialNote>}
      <CaseTable
        rows={found.items}
        opened={url.get("panel")}
        onOpen={(row) => url.change({ panel: keyOf(row) }, url.get("panel") === "" ? "push" : "replace")}
        selection={selection}
        onSelection={setSelection}
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
