// The verdict on a workload in one sentence, with the binding constraint as a bar below it.
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";

import { CodeBlock } from "@/components/ui/code-block";
import { ConstraintBar } from "@/components/ui/constraint-bar";
import { bindingOf } from "@/components/ui/constraint-model";
import { PhaseBadge, statusOf } from "@/components/ui/phase-badge";
import { RouterLink } from "@/components/ui/router-link";
import { Timestamp } from "@/components/ui/timestamp";
import { View } from "@/components/ui/view";
import type { Explanation, WorkloadObject } from "@/lib/api/types";
import { formatClock, formatDuration, formatShortTime } from "@/lib/format/times";
import { useNow } from "@/lib/hooks/use-now";

import { podsQuery } from "../api/pods";
import { explanationQuery } from "../api/workloads";
import { ALL_PODS, logAddress, podName, progressWords } from "../model/pods";
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
  const { tone, title, details, log } = verdictOf(explanation, workload, (at) => (explanation.phase === "Retrying" ? formatClock(at) : formatShortTime(at)));
  const [pod] = explanation.failedPods ?? [];
  return (
    <div className={styles.verdict} data-tone={tone}>
      <div className={styles.first}>
        <h2 className={styles.title}>{title}</h2>
        <Since explanation={explanation} workload={workload} />
      </div>
      {(explanation.phase === "Starting" || explanation.phase === "Running") && <PodProgress workloadKey={explanation.workload} />}
      {details.map((words) => (
        <p key={words} className={styles.detail}>
          {words}
        </p>
      ))}
      {log && pod && (
        <div className={styles.log}>
          <CodeBlock wrap label={`last lines of ${podName(pod)}`} text={log.join("\n")} />
          <RouterLink to={logAddress(explanation.workload, String(pod.attempt), pod)}>Open logs of {podName(pod)}</RouterLink>
        </div>
      )}
      {explanation.verdict === "Waiting" && <p className={styles.detail} title={`As of event #${explanation.asOf.position}`}>
        {queuePosition(explanation)}
        <LastAttempt explanation={explanation} />
        {!explanation.evaluated && "Not evaluated in the last cycle (inputs unchanged). "}
      </p>}
      <Constraints explanation={explanation} />
    </div>
  );
}

/** How many pods of a placed workload run by now. */
function PodProgress({ workloadKey }: { workloadKey: string }) {
  const page = useInfiniteQuery(podsQuery(workloadKey, ALL_PODS)).data?.pages[0];
  const words = progressWords(page?.attempts.find(({ attempt }) => attempt === page.attempt));
  return words === "" ? null : <p className={styles.detail}>{words}</p>;
}

/** Since when the reason holds, or when one that backs off is tried again. */
function Since({ explanation: { since, phase, verdict }, workload }: { explanation: Explanation; workload: WorkloadObject }) {
  const now = useNow();
  const again = workload.status?.requeueState?.requeueAt;
  if (phase === "Retrying" && again) {
    return (
      <span className={styles.since}>
        <Timestamp at={again} />
      </span>
    );
  }
  if (!since || verdict === "Finished") return null;
  return (
    <span className={styles.since} title={`Event #${since.position}`}>
      since {formatShortTime(since.time)}, {formatDuration(wholeMinutes((now - Date.parse(since.time)) / 1000))}
    </span>
  );
}

/** Seconds up to one minute, whole minutes from then on. */
function wholeMinutes(seconds: number): number {
  return seconds < 60 ? Math.max(0, seconds) : seconds - (seconds % 60);
}

function Constraints({ explanation }: { explanation: Explanation }) {
  const binding = bindingOf(explanation);
  const { blockers } = explanation;
  if (blockers.length === 0) return null;
  const others = blockers.length - (binding === null ? 0 : 1);
  return (
    <>
      {binding !== null && (
        <div className={styles.binding}>
          <ConstraintBar blocker={binding} />
        </div>
      )}
      {blockers.some(({ type }) => type === "Topology") && (
        <div className={styles.detail}>
          <RouterLink to={`/topology?near=${encodeURIComponent(explanation.workload)}`}>Show nearest fits on the topology map</RouterLink>
        </div>
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
