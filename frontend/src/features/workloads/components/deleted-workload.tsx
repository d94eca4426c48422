// A workload that was deleted: the user who deleted it, and its timeline, which stays.
import { useInfiniteQuery } from "@tanstack/react-query";

import { Failed, Skeleton } from "@/components/ui/states";
import { Timestamp } from "@/components/ui/timestamp";

import { timelineQuery } from "../api/workloads";
import styles from "./verdict.module.css";
import { WorkloadTimeline } from "./workload-timeline";

const DELETED = "workload.deleted";

export interface DeletedWorkloadProps {
  workloadKey: string;
  /** Why the workload could not be read; shown where the timeline knows of no deletion. */
  error: unknown;
  onRetry: () => void;
}

export function DeletedWorkload({ workloadKey, error, onRetry }: DeletedWorkloadProps) {
  const { data, isPending } = useInfiniteQuery(timelineQuery(workloadKey));
  if (isPending) return <Skeleton rows={8} />;
  const last = data?.entries.at(-1);
  if (last?.type !== DELETED) return <Failed error={error} onRetry={onRetry} />;
  return (
    <>
      <div className={styles.verdict} data-tone="idle">
        <div className={styles.first}>
          <h2 className={styles.title}>
            Deleted by {last.actor.replace(/^user:/, "")}
            {last.reason ? `: ${last.reason}` : ""}
          </h2>
          <span className={styles.since}>
            <Timestamp at={last.at} />
          </span>
        </div>
      </div>
      <WorkloadTimeline workloadKey={workloadKey} />
    </>
  );
}
