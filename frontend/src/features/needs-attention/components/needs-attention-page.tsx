// The page of what needs attention: its causes with their objects, and actions on one or many of them.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { Choices } from "@/components/ui/choices";
import { Card, Page } from "@/components/ui/layout";
import { announce } from "@/components/ui/notices";
import { View } from "@/components/ui/view";
import { causesQuery } from "@/lib/api/attention";
import { problemOf } from "@/lib/api/problem";
import type { Phase } from "@/lib/api/types";
import { useUrl } from "@/lib/hooks/use-url";

import { stuckWorkloadsQuery } from "../api/stuck-workloads";
import { type BulkActionVerb, FILTER_NAMES, NO_FILTERS, filtersIn } from "../model/stuck-workloads";
import { BatchDialog } from "./batch-dialog";
import { BatchRecord } from "./batch-record";
import type { AskedBatch } from "./bulk-action-bar";
import { CauseList } from "./cause-list";
import styles from "./needs-attention.module.css";
import { StuckList } from "./stuck-list";
import { StuckWorkloadPanel } from "./stuck-workload-panel";
import { WebhooksView } from "./webhooks-view";

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
  const client = useQueryClient();
  const [selection, setSelection] = useState<Record<string, true>>({});
  const [asked, setAsked] = useState<AskedBatch | null>(null);
  const causes = useQuery(causesQuery);
  const filters = filtersIn(url);
  // Filters without a cause look for workloads of all causes, as kept links do.
  const isSearch = url.get("alert") === "" && FILTER_NAMES.some((name) => filters[name] !== "");
  const chosen = { selection, onSelection: setSelection, onAsked: setAsked };
  const askForAll = async (action: BulkActionVerb, phase: Phase) => {
    const found = await client.query(stuckWorkloadsQuery(NO_FILTERS, phase));
    setAsked({ action, cases: found.items });
  };
  return (
    <div className={styles.view}>
      {isSearch ? (
        <Card>
          <StuckList {...chosen} />
        </Card>
      ) : (
        <View query={causes} rows={3}>
          {({ causes: found, at }) => (
            <Card>
              <CauseList causes={found} at={at} onAll={(action, phase) => void askForAll(action, phase).catch((error: unknown) => announce(problemOf(error).detail, "bad"))} stuck={(phase) => <StuckList key={phase} phase={phase} {...chosen} />} />
            </Card>
          )}
        </View>
      )}
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
