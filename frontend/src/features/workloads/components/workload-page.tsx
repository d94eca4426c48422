// One workload: pending reason, blockers, timeline, placement and actions.
import { useQuery } from "@tanstack/react-query";

import { Choices } from "@/components/ui/choices";
import { RouterLink } from "@/components/ui/router-link";
import { Page } from "@/components/ui/layout";
import { Timestamp } from "@/components/ui/timestamp";
import { View } from "@/components/ui/view";
import type { WorkloadObject } from "@/lib/api/types";
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
            <RouterLink className={styles.tryOut} to={`/what-if?workload=${encodeURIComponent(workloadKey)}`}>
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

function Body({ workload, workloadKey }: { workload: WorkloadObject; workloadKey: string }) {
  const url = useUrl();
  return (
    <>
      <Headline workload={workload} workloadKey={workloadKey} />
      <WaysToStart workload={workload} workloadKey={workloadKey} />
      <Choices
        label="Workload sections"
        value={url.get("view") || "overview"}
        onChange={(view) => url.change({ ...OF_ONE_VIEW, view: view === "overview" ? "" : view }, "replace")}
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
