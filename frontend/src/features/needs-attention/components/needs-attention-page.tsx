// The page of what needs attention: its causes with their objects, and actions on one or many of them.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";

import { Button } from "@/components/ui/button";
import { ListFrame, Page } from "@/components/ui/layout";
import { announce } from "@/components/ui/notices";
import { View } from "@/components/ui/view";
import { causesQuery } from "@/lib/api/attention";
import { problemOf } from "@/lib/api/problem";
import type { Phase } from "@/lib/api/types";
import { type UrlState, useUrl } from "@/lib/hooks/use-url";

import { stuckWorkloadsQuery } from "../api/stuck-workloads";
import { type BulkActionVerb, FILTER_NAMES, NO_FILTERS, filtersIn } from "../model/stuck-workloads";
import { AlertRules } from "./alert-rules";
import { BatchDialog } from "./batch-dialog";
import { BatchRecord } from "./batch-record";
import type { AskedBatch } from "./bulk-action-bar";
import { CauseFilters, CauseList } from "./cause-list";
import styles from "./needs-attention.module.css";
import { StuckList } from "./stuck-list";
import { StuckWorkloadPanel } from "./stuck-workload-panel";
import { WebhooksView } from "./webhooks-view";

export function NeedsAttentionPage() {
  const url = useUrl();
  const view = VIEWS.find(({ key }) => key === url.get("view"))?.key ?? "";
  return (
    <Page
      title="Needs attention"
      filters={
        <>
          {view === "" && !isSearchIn(url) && <CauseFilters />}
          <Views shown={view} />
        </>
      }
    >
      {view === "" && <Alerts />}
      {view === "webhooks" && <WebhooksView />}
      {view === "rules" && <AlertRules />}
    </Page>
  );
}

/** Filters without a cause look for workloads of all causes, as kept links do. */
function isSearchIn(url: UrlState): boolean {
  const filters = filtersIn(url);
  return url.get("alert") === "" && FILTER_NAMES.some((name) => filters[name] !== "");
}

const VIEWS = [
  { key: "", words: "Alerts" },
  { key: "webhooks", words: "Webhooks" },
  { key: "rules", words: "Alert rules" },
] as const;

function Views({ shown }: { shown: string }) {
  const url = useUrl();
  return (
    <div className={styles.views} role="group" aria-label="Views">
      {VIEWS.map(({ key, words }) => (
        <Button key={key} aria-pressed={key === shown} onClick={() => url.change({ view: key, webhook: "" }, "replace")}>
          {words}
        </Button>
      ))}
    </div>
  );
}

function Alerts() {
  const url = useUrl();
  const client = useQueryClient();
  const [selection, setSelection] = useState<Record<string, true>>({});
  const [asked, setAsked] = useState<AskedBatch | null>(null);
  const causes = useQuery(causesQuery);
  const chosen = { selection, onSelection: setSelection, onAsked: setAsked };
  const askForAll = async (action: BulkActionVerb, phase: Phase) => {
    const found = await client.query(stuckWorkloadsQuery(NO_FILTERS, phase));
    setAsked({ action, cases: found.items });
  };
  return (
    <div className={styles.view}>
      {isSearchIn(url) ? (
        <ListFrame>
          <StuckList {...chosen} />
        </ListFrame>
      ) : (
        <View query={causes} rows={3}>
          {({ causes: found, at }) => (
            <ListFrame>
              <CauseList causes={found} at={at} onAll={(action, phase) => void askForAll(action, phase).catch((error: unknown) => announce(problemOf(error).detail, "bad"))} stuck={(phase) => <StuckList key={phase} phase={phase} {...chosen} />} />
            </ListFrame>
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
