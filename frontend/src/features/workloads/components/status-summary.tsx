// Preemption, placement and requeueing of a workload, one line each.
import { RouterLink } from "@/components/ui/router-link";
import { Card } from "@/components/ui/layout";
import { Timestamp } from "@/components/ui/timestamp";
import type { WorkloadObject } from "@/lib/api/types";
import { workloadAddress } from "@/lib/events";

import { statusSummaryOf } from "../model/status-summary";
import styles from "./workload-page.module.css";

export function StatusSummary({ workload }: { workload: WorkloadObject }) {
  const { hold, requeueState, unhealthyNodes = [] } = workload.status ?? {};
  const lines = statusSummaryOf(workload);
  if (lines.length + unhealthyNodes.length === 0 && !hold && !requeueState?.requeueAt) return null;
  return (
    <Card title="Scheduling settings">
      <dl className={styles.facts}>
        {hold && (
          <>
            <dt>On hold</dt>
            <dd>
              by {hold.owner}: {hold.reason}
              {hold.expiresAt && (
                <>
                  {" "}
                  (ends <Timestamp at={hold.expiresAt} />)
                </>
              )}
            </dd>
          </>
        )}
        {requeueState?.requeueAt && (
          <>
            <dt>Next retry</dt>
            <dd>
              <Timestamp at={requeueState.requeueAt} />
            </dd>
          </>
        )}
        {unhealthyNodes.map(({ name, reason }) => (
          <UnhealthyNode key={name} name={name} reason={reason ?? ""} />
        ))}
        {lines.map(({ term, words, workload: other, round, warns }, index) => (
          <div key={index} className={styles.fact}>
            <dt>{term}</dt>
            <dd className={warns ? styles.warning : undefined}>
              {words} {other && <RouterLink to={workloadAddress(other)}>{other}</RouterLink>}
              {round && <RouterLink to={`/preemptions/${encodeURIComponent(round)}`}>View preemption</RouterLink>}
            </dd>
          </div>
        ))}
      </dl>
    </Card>
  );
}

function UnhealthyNode({ name, reason }: { name: string; reason: string }) {
  return (
    <div className={styles.fact}>
      <dt>Lost host</dt>
      <dd className={styles.warning}>
        <RouterLink to={`/topology?host=${encodeURIComponent(name)}`}>{name}</RouterLink>
        {reason && ` (${reason})`}: finding a replacement
      </dd>
    </div>
  );
}
