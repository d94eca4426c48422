// How it stands with preemption, with its place and with coming back, one line for each thing.
import { Go } from "@/components/ui/go";
import { Card } from "@/components/ui/layout";
import { Moment } from "@/components/ui/moment";
import type { WorkloadObject } from "@/lib/api/types";
import { workloadAddress } from "@/lib/events";

import { standingOf } from "../model/standing";
import styles from "./workload-page.module.css";

export function Standing({ workload }: { workload: WorkloadObject }) {
  const { hold, requeueState, unhealthyNodes = [] } = workload.status ?? {};
  const lines = standingOf(workload);
  if (lines.length + unhealthyNodes.length === 0 && !hold && !requeueState?.requeueAt) return null;
  return (
    <Card title="How it stands">
      <dl className={styles.facts}>
        {hold && (
          <>
            <dt>Held</dt>
            <dd>
              by {hold.owner}: {hold.reason}
              {hold.expiresAt && (
                <>
                  {" "}
                  (ends <Moment at={hold.expiresAt} />)
                </>
              )}
            </dd>
          </>
        )}
        {requeueState?.requeueAt && (
          <>
            <dt>Competes again</dt>
            <dd>
              <Moment at={requeueState.requeueAt} />
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
              {words} {other && <Go to={workloadAddress(other)}>{other}</Go>}
              {round && <Go to={`/preemptions/${encodeURIComponent(round)}`}>For whom, and why</Go>}
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
        <Go to={`/topology?host=${encodeURIComponent(name)}`}>{name}</Go>
        {reason && ` (${reason})`}: another is sought for its pods
      </dd>
    </div>
  );
}
