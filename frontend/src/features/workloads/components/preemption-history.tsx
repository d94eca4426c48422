// The preemptions of a workload both ways: those that evicted it, and those it evicted others by.
import { useQuery } from "@tanstack/react-query";

import { Card } from "@/components/ui/layout";
import { RouterLink } from "@/components/ui/router-link";
import { Timestamp } from "@/components/ui/timestamp";
import type { Round } from "@/lib/api/types";
import { workloadAddress } from "@/lib/events";
import { ruleWords } from "@/lib/format/rules";

import { preemptionsQuery } from "../api/workloads";
import styles from "./workload-page.module.css";

const MAX_NAMED = 3;

export function PreemptionHistory({ workloadKey }: { workloadKey: string }) {
  const rounds = useQuery(preemptionsQuery(workloadKey)).data?.items ?? [];
  if (rounds.length === 0) return null;
  return (
    <Card title="Preemption history" aside={<RouterLink to={`/preemptions?workload=${encodeURIComponent(workloadKey)}`}>All preemptions</RouterLink>}>
      <ul className={styles.steps}>
        {rounds.map((round) => (
          <li key={round.id}>
            <Timestamp at={round.committedAt} /> <Line round={round} workloadKey={workloadKey} />{" "}
            <RouterLink className={styles.inText} to={`/preemptions/${encodeURIComponent(round.id)}`}>
              View
            </RouterLink>
          </li>
        ))}
      </ul>
    </Card>
  );
}

function Line({ round, workloadKey }: { round: Round; workloadKey: string }) {
  const { preemptor, victims } = round;
  const own = victims.find(({ workload }) => workload === workloadKey);
  if (own !== undefined) {
    return (
      <>
        Preempted by <WorkloadLink name={preemptor} /> ({ruleWords(own.reason)})
      </>
    );
  }
  return (
    <>
      Preempted {victims.length}:{" "}
      {victims.slice(0, MAX_NAMED).map(({ workload }, number) => (
        <span key={workload}>
          {number > 0 && ", "}
          <WorkloadLink name={workload} />
        </span>
      ))}
      {victims.length > MAX_NAMED && ` and ${victims.length - MAX_NAMED} more`}
    </>
  );
}

function WorkloadLink({ name }: { name: string }) {
  if (!name.includes("/")) return <>{name}</>;
  return (
    <RouterLink className={styles.inText} to={workloadAddress(name)}>
      {name}
    </RouterLink>
  );
}
