// An ongoing eviction and nominated capacity: steps so far and deadlines.
import { RouterLink } from "@/components/ui/router-link";
import { Card } from "@/components/ui/layout";
import { Timestamp } from "@/components/ui/timestamp";
import type { Eviction, WorkloadObject } from "@/lib/api/types";

import { placesOf } from "../model/placement";
import { nextOf, stepsOf } from "../model/status-summary";
import styles from "./workload-page.module.css";

export function EvictionProgress({ workload }: { workload: WorkloadObject }) {
  const { eviction } = workload.status ?? {};
  if (!eviction) return null;
  const next = nextOf(eviction);
  return (
    <Card title="Eviction in progress" aside={<RoundOf eviction={eviction} />}>
      <ol className={styles.steps}>
        {stepsOf(eviction).map(({ words, at }) => (
          <li key={words}>
            {words} <Timestamp at={at} />
          </li>
        ))}
        {next && (
          <li className={styles.soft}>
            {next.words}: <Timestamp at={next.at} />
          </li>
        )}
      </ol>
    </Card>
  );
}

function RoundOf({ eviction }: { eviction: Eviction }) {
  if (eviction.reason !== "Preempted") return <>{eviction.reason}</>;
  return <RouterLink to={`/preemptions/${encodeURIComponent(eviction.id)}`}>View preemption</RouterLink>;
}

export function Nominated({ workload }: { workload: WorkloadObject }) {
  const nominated = workload.status?.nominatedPlacement;
  if (!nominated) return null;
  const hosts = nominated.podSetAssignments.flatMap(placesOf);
  return (
    <Card title="Preemption in progress" aside={nominated.round && <RouterLink to={`/preemptions/${encodeURIComponent(nominated.round)}`}>Victims</RouterLink>}>
      <p className={styles.note}>
        Nominated placement in <RouterLink to={`/queues/${encodeURIComponent(nominated.clusterQueue)}`}>{nominated.clusterQueue}</RouterLink>
        {hosts.length > 0 && " on"}:
      </p>
      {hosts.length > 0 && (
        <ul className={styles.hosts} aria-label="Nominated hosts">
          {hosts.map(({ host, pods }, index) => (
            <li key={index} className={styles.host}>
              <RouterLink to={`/topology?host=${encodeURIComponent(host)}`}>{host}</RouterLink> × {pods}
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}
