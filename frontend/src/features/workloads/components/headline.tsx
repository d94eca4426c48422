// The verdict on a workload in one sentence, with the binding constraint as a bar below it.
import { useQuery } from "@tanstack/react-query";

import { ConstraintBar } from "@/components/ui/constraint-bar";
import { bindingOf } from "@/components/ui/constraint-model";
import { PhaseBadge, statusOf } from "@/components/ui/phase-badge";
import { RouterLink } from "@/components/ui/router-link";
import { Timestamp } from "@/components/ui/timestamp";
import { View } from "@/components/ui/view";
import type { Explanation, WorkloadObject } from "@/lib/api/types";
import { formatShortTime } from "@/lib/format/times";

import { explanationQuery } from "../api/workloads";
import { otherWords, verdictOf } from "../model/verdict";
import styles from "./verdict.module.css";
import { Matrix } from "./why-matrix";

export interface HeadlineProps {
  workload: WorkloadObject;
  workloadKey: string;
}

export function Headline({ workload, workloadKey }: HeadlineProps) {
  const explanation = useQuery(explanationQuery(workloadKey));
  return (
    <View query={explanation} rows={2}>
      {(found) => <VerdictBanner explanation={found} workload={workload} />}
    </View>
  );
}

function VerdictBanner({ explanation, workload }: { explanation: Explanation; workload: WorkloadObject }) {
  const { tone, title, details } = verdictOf(explanation, workload, (at) => formatShortTime(at));
  return (
    <div className={styles.verdict} data-tone={tone}>
      <h2 className={styles.title}>{title}</h2>
      {details.map((words) => (
        <p key={words} className={styles.detail}>
          {words}
        </p>
      ))}
      {explanation.verdict === "Waiting" && <p className={styles.detail} title={`As of event #${explanation.asOf.position}`}>
        {queuePosition(explanation)}
        {explanation.since && (
          <>
            <span title={`Event #${explanation.since.position}`}>
              Reason recorded <Timestamp at={explanation.since.time} />, unchanged since.
            </span>{" "}
          </>
        )}
        <LastAttempt explanation={explanation} />
        {!explanation.evaluated && "Not evaluated in the last cycle (inputs unchanged). "}
      </p>}
      <Constraints explanation={explanation} />
    </div>
  );
}

function Constraints({ explanation }: { explanation: Explanation }) {
  const binding = bindingOf(explanation);
  const { blockers } = explanation;
  if (blockers.length === 0) return null;
  const others = blockers.length - (binding === null ? 0 : 1);
  return (
    <>
      {binding !== null && <ConstraintBar blocker={binding} />}
      {blockers.some(({ type }) => type === "Topology") && (
        <p className={styles.detail}>
          <RouterLink to={`/topology?near=${encodeURIComponent(explanation.workload)}`}>Show nearest fits on the topology map</RouterLink>
        </p>
      )}
      <details className={styles.folded}>
        <summary>{others === 0 ? "Details of the constraint" : otherWords(explanation, binding)}</summary>
        <Matrix blockers={blockers} />
      </details>
    </>
  );
}

/** The status of a workload, of which the explanation tells more than the phase. */
export function StatusBadge({ workload, workloadKey }: HeadlineProps) {
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

function queuePosition({ position }: Explanation): string {
  if (!position?.clusterQueue) return "";
  return `Queue position ${position.clusterQueue} of ${position.of}. `;
}
