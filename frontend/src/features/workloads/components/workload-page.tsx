// One workload: pending reason, blockers, timeline, placement and actions.
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";

import { Choices } from "@/components/ui/choices";
import { RouterLink } from "@/components/ui/router-link";
import { Page } from "@/components/ui/layout";
import { announce } from "@/components/ui/notices";
import { Timestamp } from "@/components/ui/timestamp";
import { View } from "@/components/ui/view";
import { problemOf } from "@/lib/api/problem";
import type { WorkloadObject } from "@/lib/api/types";
import { useHotkeys } from "@/lib/hooks/use-hotkeys";
import { type UrlState, useUrl } from "@/lib/hooks/use-url";

import { podsQuery } from "../api/pods";
import { explanationQuery, localQueueQuery, timelineQuery, workloadQuery } from "../api/workloads";
import { simulatorAddress } from "../model/actions";
import { ALL_PODS, podCount } from "../model/pods";
import { Assignment } from "./assignment";
import { Attempts } from "./attempts";
import { Checks } from "./checks";
import { Conditions } from "./conditions";
import { Definition } from "./definition";
import { DeletedWorkload } from "./deleted-workload";
import { Headline, StatusBadge } from "./headline";
import { Logs } from "./logs";
import { Pods } from "./pods";
import { FailedPods, PodsSummary } from "./pods-summary";
import { EvictionProgress, Nominated } from "./eviction-progress";
import { PreemptionHistory } from "./preemption-history";
import { Remedies } from "./remedies";
import { StatusSummary } from "./status-summary";
import { RecoveryPreview } from "./recovery-preview";
import { WorkloadActions } from "./workload-actions";
import { WorkloadTimeline } from "./workload-timeline";
import styles from "./workload-page.module.css";

/** What the address says of one view is left behind with it; the attempt goes on. */
const OF_ONE_VIEW = { view: "", event: "", state: "", podSet: "", node: "", runs: "", pod: "", run: "", stream: "" };

const NOT_FOUND = 404;

export function WorkloadPage({ workloadKey }: { workloadKey: string }) {
  const workload = useQuery(workloadQuery(workloadKey));
  const isGone = workload.isError && problemOf(workload.error).status === NOT_FOUND;
  const known = isGone ? undefined : workload.data;
  return (
    <Page
      title={workloadKey}
      over={
        <>
          <RouterLink to="/workloads">Workloads</RouterLink>
          {known && <Over workload={known} workloadKey={workloadKey} />}
        </>
      }
      actions={
        known && (
          <>
            <RouterLink className={styles.tryOut} to={simulatorAddress(workloadKey)}>
              Simulate a change
            </RouterLink>
            <WorkloadActions workload={known} />
          </>
        )
      }
    >
      {isGone ? (
        <DeletedWorkload workloadKey={workloadKey} error={workload.error} onRetry={() => void workload.refetch()} />
      ) : (
        <View query={workload} rows={8}>
          {(found) => <Body workload={found} workloadKey={workloadKey} />}
        </View>
      )}
    </Page>
  );
}

function Over({ workload, workloadKey }: { workload: WorkloadObject; workloadKey: string }) {
  return (
    <>
      <StatusBadge workload={workload} workloadKey={workloadKey} />
      <span className={styles.beneath}>
        <InQueue workload={workload} />, priority {workload.status?.priority ?? workload.spec.priority ?? 0}, submitted <Timestamp at={workload.metadata.creationTimestamp} />
        <Owner workload={workload} />
      </span>
    </>
  );
}

function Owner({ workload: { status } }: { workload: WorkloadObject }) {
  const owner = status?.owner;
  return owner && <> by {owner.user}</>;
}

function InQueue({ workload: { metadata, spec } }: { workload: WorkloadObject }) {
  const door = useQuery(localQueueQuery(metadata.namespace ?? "", spec.queueName ?? ""));
  const queue = door.data?.spec.clusterQueue;
  if (!spec.queueName) return <>in no queue</>;
  return (
    <>
      in {spec.queueName}
      {queue && (
        <>
          {" "}
          of{" "}
          <RouterLink className={styles.inText} to={`/queues/${encodeURIComponent(queue)}`}>
            {queue}
          </RouterLink>
        </>
      )}
    </>
  );
}

function WaysToStart({ workload, workloadKey }: { workload: WorkloadObject; workloadKey: string }) {
  const { data } = useQuery(explanationQuery(workloadKey));
  return data === undefined ? null : <Remedies explanation={data} workload={workload} />;
}

const TABS = ["summary", "pods", "logs", "timeline", "manifest"] as const;
type Tab = (typeof TABS)[number];
/** What addresses of before call the tabs. */
const OLD: Record<string, Tab> = { overview: "summary", definition: "manifest", pods: "pods", logs: "logs" };

/** The tab of the address; an event is shown in the timeline. */
function tabOf(url: UrlState): Tab {
  const named = TABS.find((tab) => tab === url.get("tab")) ?? OLD[url.get("view")];
  return named ?? (url.get("event") === "" ? "summary" : "timeline");
}

/** Digits show a tab, l the logs; e resubmits with changes, y copies the name. */
function useWorkloadKeys(workloadKey: string, shown: Tab, show: (tab: Tab) => void): void {
  const { history } = useRouter();
  // In the logs digits choose a rank.
  const digits = shown === "logs" ? [] : TABS.map((tab, index): [string, () => void] => [`${index + 1}`, () => show(tab)]);
  useHotkeys({
    ...Object.fromEntries(digits),
    l: () => show("logs"),
    e: () => history.push(`/submit?from=${encodeURIComponent(workloadKey)}`),
    y: () => void navigator.clipboard.writeText(workloadKey).then(() => announce(`Copied ${workloadKey}`)),
  });
}

function Body({ workload, workloadKey }: { workload: WorkloadObject; workloadKey: string }) {
  const url = useUrl();
  const shown = tabOf(url);
  const show = (tab: Tab, event = "") => url.change({ ...OF_ONE_VIEW, event, tab: tab === "summary" ? "" : tab }, "replace");
  const counts = useCounts(workloadKey);
  useWorkloadKeys(workloadKey, shown, show);
  return (
    <>
      <Headline workload={workload} workloadKey={workloadKey} />
      <WaysToStart workload={workload} workloadKey={workloadKey} />
      <Choices
        label="Workload sections"
        value={shown}
        onChange={(tab) => show(tab as Tab)}
        choices={[
          { key: "summary", label: "Summary", content: <Summary {...{ workload, workloadKey }} onTab={show} /> },
          { key: "pods", label: <Counted words="Pods" count={counts.pods} />, content: <Pods workload={workload} workloadKey={workloadKey} /> },
          { key: "logs", label: "Logs", content: <Logs workload={workload} workloadKey={workloadKey} /> },
          { key: "timeline", label: <Counted words="Timeline" count={counts.events} />, content: <WorkloadTimeline workloadKey={workloadKey} /> },
          { key: "manifest", label: "Manifest", content: <Definition workload={workload} workloadKey={workloadKey} /> },
        ]}
      />
    </>
  );
}

function Counted({ words, count }: { words: string; count: number | undefined }) {
  return (
    <>
      {words} <span className={styles.count}>{count?.toLocaleString("en")}</span>
    </>
  );
}

/** How many pods the newest attempt has, and how many events there were. */
function useCounts(workloadKey: string): { pods: number | undefined; events: number | undefined } {
  const page = useInfiniteQuery(podsQuery(workloadKey, ALL_PODS)).data?.pages[0];
  const life = useInfiniteQuery(timelineQuery(workloadKey)).data;
  const latest = page?.attempts.find(({ attempt }) => attempt === page.attempt);
  return { pods: page && (latest === undefined ? 0 : podCount(latest)), events: life && life.entries.length + life.earlier };
}

function Summary({ workload, workloadKey, onTab }: { workload: WorkloadObject; workloadKey: string; onTab: (tab: Tab, event?: string) => void }) {
  return (
    <div className={styles.stack}>
      <Attempts workloadKey={workloadKey} onOpen={(event) => onTab("timeline", event)} />
      <div className={styles.columns}>
        <div className={styles.stack}>
          <PodsSummary workloadKey={workloadKey} onAll={() => onTab("pods")} />
          <FailedPods workloadKey={workloadKey} />
          <EvictionProgress workload={workload} />
          <Nominated workload={workload} />
          <Checks workload={workload} />
          <RecoveryPreview workload={workload} />
          <Assignment workload={workload} />
        </div>
        <div className={styles.stack}>
          <PreemptionHistory workloadKey={workloadKey} />
          <StatusSummary workload={workload} />
          <Conditions workload={workload} />
        </div>
      </div>
    </div>
  );
}
