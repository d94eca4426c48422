// A workload beside the list: pending reason, blockers and recent events.
import { useQuery } from "@tanstack/react-query";
import { Maximize2 } from "lucide-react";

import { RouterLink } from "@/components/ui/router-link";
import { SidePanel } from "@/components/ui/side-panel";
import { View } from "@/components/ui/view";
import { workloadAddress } from "@/lib/events";

import { workloadQuery } from "../api/workloads";
import { Headline, StatusBadge } from "./headline";
import { WorkloadActions } from "./workload-actions";
import { WorkloadTimeline } from "./workload-timeline";
import styles from "./workload-page.module.css";

export function WorkloadPanel({ workloadKey, onClose }: { workloadKey: string; onClose: () => void }) {
  const workload = useQuery(workloadQuery(workloadKey));
  return (
    <SidePanel
      label={`Workload ${workloadKey}`}
      onClose={onClose}
      title={
        <RouterLink to={workloadAddress(workloadKey)} className={styles.panelTitle}>
          {workloadKey} <Maximize2 aria-label="Open the full page" />
        </RouterLink>
      }
    >
      <View query={workload}>
        {(found) => (
          <>
            <div className={styles.row}>
              <StatusBadge workload={found} workloadKey={workloadKey} />
              <span className={styles.soft}>in {found.spec.queueName ?? "no queue"}</span>
            </div>
            <Headline workload={found} workloadKey={workloadKey} />
            <WorkloadActions workload={found} />
            <WorkloadTimeline workloadKey={workloadKey} />
          </>
        )}
      </View>
    </SidePanel>
  );
}
