// The page of what needs attention: its causes with their objects, and actions on one or many of them.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { MoreHorizontal } from "lucide-react";
import { useState } from "react";

import { Button } from "@/components/ui/button";
import { ListFrame, Page } from "@/components/ui/layout";
import { Menu } from "@/components/ui/menu";
import { announce } from "@/components/ui/notices";
import { View } from "@/components/ui/view";
import { causesQuery } from "@/lib/api/attention";
import { problemOf } from "@/lib/api/problem";
import type { Phase } from "@/lib/api/types";
import { PHONE, TIGHT, useMedia } from "@/lib/hooks/use-media";
import { type UrlState, useUrl } from "@/lib/hooks/use-url";

import { stuckWorkloadsQuery } from "../api/stuck-workloads";
import { SEVERITY_CHOICES, shownSeverity } from "../model/causes";
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
  const isPhone = useMedia(PHONE);
  const view = VIEWS.find(({ key }) => key === url.get("view"))?.key ?? "";
  const isByCause = view === "" && !isSearchIn(url);
  return (
    <Page
      title="Needs attention"
      filters={isByCause ? <CauseFilters hasSeverity={!isPhone} /> : null}
      actions={<Views shown={view} hasSeverity={isPhone && isByCause} />}
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

/** Alerts, and what is set up for them: buttons, or a menu where the line has no room for them. */
function Views({ shown, hasSeverity }: { shown: string; hasSeverity: boolean }) {
  const url = useUrl();
  const isTight = useMedia(TIGHT);
  const views = VIEWS.map(({ key, words }) => ({ key, words, checked: key === shown, onSelect: () => url.change({ view: key, webhook: "" }, "replace") }));
  if (!isTight) {
    return (
      <div className={styles.views} role="group" aria-label="Views">
        {views.map(({ key, words, checked, onSelect }) => (
          <Button key={key} aria-pressed={checked} onClick={onSelect}>
            {words}
          </Button>
        ))}
      </div>
    );
  }
  const asked = shownSeverity(url.get("severity"));
  const severities = SEVERITY_CHOICES.map(({ value, words }) => ({
    key: `severity ${value}`,
    words: `Severity: ${words}`,
    checked: value === asked,
    onSelect: () => url.change({ severity: value }, "replace"),
  }));
  const narrowed = hasSeverity ? severities.find(({ key, checked }) => checked && key !== "severity ")?.words : undefined;
  const words = narrowed ?? views.find(({ key, checked }) => checked && key !== "")?.words;
  return (
    <Menu
      trigger={
        <Button shape={words === undefined ? "icon" : "text"} aria-label={words === undefined ? "Views" : `${words}, views`}>
          <MoreHorizontal aria-hidden="true" />
          {words}
        </Button>
      }
      items={hasSeverity ? [...severities, ...views] : views}
    />
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
            <CauseList causes={found} at={at} onAll={(action, phase) => void askForAll(action, phase).catch((error: unknown) => announce(problemOf(error).detail, "bad"))} stuck={(phase) => <StuckList key={phase} phase={phase} {...chosen} />} />
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
