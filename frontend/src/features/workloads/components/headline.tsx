// The status of a workload in one sentence.
import { useQuery } from "@tanstack/react-query";

import { PhaseBadge, phaseTone, statusOf } from "@/components/ui/phase-badge";
import { RouterLink } from "@/components/ui/router-link";
import { Timestamp } from "@/components/ui/timestamp";
import { View } from "@/components/ui/view";
import type { Explanation, WorkloadObject } from "@/lib/api/types";

import { explanationQuery } from "../api/workloads";
import styles from "./workload-page.module.css";

export function Headline({ workloadKey }: { workloadKey: string }) {
  const explanation = useQuery(explanationQuery(workloadKey));
  return (
    <View query={explanation} rows={2}>
      {(found) => (
        <div className={styles.headline} data-tone={phaseTone(found.dominant === "Unschedulable" ? found.dominant : found.phase)}>
          <p className={styles.sentence}>{found.sentence}</p>
          <p className={styles.asOf} title={`As of event #${found.asOf.position}`}>
            {queuePosition(found)}
            {found.since && (
              <>
                <span title={`Event #${found.since.position}`}>
                  Reason recorded <Timestamp at={found.since.time} />, unchanged since.
                </span>{" "}
              </>
            )}
            <LastAttempt explanation={found} />
            {found.verdict === "Waiting" && !found.evaluated && "Not evaluated in the last cycle (inputs unchanged). "}
          </p>
          {found.expectedStart && <Expected expected={found.expectedStart} />}
        </div>
      )}
    </View>
  );
}

/** The status of a workload, of which the explanation tells more than the phase. */
export function StatusBadge({ workload, workloadKey }: { workload: WorkloadObject; workloadKey: string }) {
  const explanation = useQuery(explanationQuery(workloadKey));
  return <PhaseBadge phase={statusOf(workload.status?.phase ?? "Pending", explanation.data?.dominant)} />;
}

function LastAttempt({ explanation }: { explanation: Explanation }) {
  const { attempts, lastAttempt } = explanation;
  if (!lastAttempt) return null;
  return (
    <>
      Reason changed in {attempts === 1 ? "1 cycle" : `${attempts} cycles`},{" "}
      <RouterLink to={`/cycles/${encodeURIComponent(lastAttempt.cycle)}`}>the last</RouterLink> <Timestamp at={lastAttempt.time} />.{" "}
    </>
  );
}

function Expected({ expected }: { expected: NonNullable<Explanation["expectedStart"]> }) {
  const { earliest, latest, basis, cannotSay, calibration } = expected;
  if (cannotSay) return <p className={styles.asOf}>{cannotSay}</p>;
  return (
    <p className={styles.asOf}>
      Estimated start: <Timestamp at={earliest} /> to <Timestamp at={latest} />. {basis}{" "}
      {calibration && calibration.predictions > 0 && `Past estimates were right ${calibration.held} of ${calibration.predictions} times.`}
    </p>
  );
}

function queuePosition({ position }: Explanation): string {
  if (!position?.clusterQueue) return "";
  return `Queue position ${position.clusterQueue} of ${position.of}. `;
}
