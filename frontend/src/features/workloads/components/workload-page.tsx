// One workload: pending reason, blockers, timeline, placement and actions.
import { useQuery } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";

import { Choices } from "@/components/ui/choices";
import { RouterLink } from "@/components/ui/router-link";
import { Page } from "@/components/ui/layout";
import { announce } from "@/components/ui/notices";
import { Timestamp } from "@/components/ui/timestamp";
import { View } from "@/components/ui/view";
import type { WorkloadObject } from "@/lib/api/types";
import { useHotkeys } from "@/lib/hooks/use-hotkeys";
import { useUrl } from "@/lib/hooks/use-url";

import { explanationQuery, localQueueQuery, workloadQuery } from "../api/workloads";
import { Assignment } from "./assignment";
import { Checks } from "./checks";
import { Conditions } from "./conditions";
import { Definition } from "./definition";
import { Headline, StatusBadge } from "./headline";
import { Logs } from "./logs";
import { FailedPods, Pods } from "./pods";
import { EvictionProgress, Nominated } from "./eviction-progress";
import { PreemptionHistory } from "./preemption-history";
import { Remedies } from "./remedies";
import { StatusSummary } from "./status-summary";
import { RecoveryPreview } from "./recovery-preview";
import { WorkloadActions } from "./workload-actions";
import { WorkloadTimeline } from "./workload-timeline";
import styles from "./workload-page.module.css";

/** What the address says of one view is left behind with it; the attempt goes on. */
const OF_ONE_VIEW = { event: "", state: "", podSet: "", node: "", runs: "", pod: "", run: "", stream: "" };

export function WorkloadPage({ workloadKey }: { workloadKey: string }) {
  const workload = useQuery(workloadQuery(workloadKey));
  return (
    <Page
      title={workloadKey}
      over={
        <>
          <RouterLink to="/workloads">Workloads</RouterLink>
          {workload.data && <Over workload={workload.data} workloadKey={workloadKey} />}
        </>
      }
      actions={
        workload.data && (
          <>
            <RouterLink className={styles.tryOut} to={`/simulations/new?workload=${encodeURIComponent(workloadKey)}`}>
              Simulate a change
            </RouterLink>
            <WorkloadActions workload={workload.data} />
          </>
        )
      }
    >
      <View query={workload} rows={8}>
        {(found) => <Body workload={found} workloadKey={workloadKey} />}
      </View>
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

const SECTIONS = ["overview", "pods", "logs", "definition"] as const;

/** Digits show a section, l the logs; e resubmits with changes, y copies the name. */
function useWorkloadKeys(workloadKey: string, shown: string, show: (view: string) => void): void {
  const { history } = useRouter();
  // In the logs digits choose a rank.
  const digits = shown === "logs" ? [] : SECTIONS.map((section, index): [string, () => void] => [`${index + 1}`, () => show(section)]);
  useHotkeys({
    ...Object.fromEntries(digits),
    l: () => show("logs"),
    e: () => history.push(`/submit?from=${encodeURIComponent(workloadKey)}`),
    y: () => void navigator.clipboard.writeText(workloadKey).then(() => announce(`Copied ${workloadKey}`)),
  });
}

function Body({ workload, workloadKey }: { workload: WorkloadObject; workloadKey: string }) {
  const url = useUrl();
  const shown = url.get("view") || "overview";
  const show = (view: string) => url.change({ ...OF_ONE_VIEW, view: view === "overview" ? "" : view }, "replace");
  useWorkloadKeys(workloadKey, shown, show);
  return (
    <>
      <Headline workload={workload} workloadKey={workloadKey} />
      <WaysToStart workload={workload} workloadKey={workloadKey} />
      <Choices
        label="Workload sections"
        value={shown}
        onChange={show}
        choices={[
          {
            key: "overview",
            label: "Overview",
            content: (
              <div className={styles.columns}>
                <div className={styles.stack}>
                  <FailedPods workloadKey={workloadKey} />
                  <EvictionProgress workload={workload} />
                  <Nominated workload={workload} />
                  <Checks workload={workload} />
                  <RecoveryPreview workload={workload} />
                  <StatusSummary workload={workload} />
                  <Assignment workload={workload} />
                  <Conditions workload={workload} />
                </div>
                <div className={styles.stack}>
                  <PreemptionHistory workloadKey={workloadKey} />
                  <WorkloadTimeline workloadKey={workloadKey} />
                </div>
              </div>
            ),
          },
          { key: "pods", label: "Pods", content: <Pods workload={workload} workloadKey={workloadKey} /> },
          { key: "logs", label: "Logs", content: <Logs workload={workload} workloadKey={workloadKey} /> },
          { key: "definition", label: "YAML", content: <Definition workload={workload} workloadKey={workloadKey} /> },
        ]}
      />
    </>
  );
}
