// An eviction that is under way, and a place that is being made free: what was done, and what time will bring.
import { Go } from "@/components/ui/go";
import { Card } from "@/components/ui/layout";
import { Moment } from "@/components/ui/moment";
import type { Eviction, WorkloadObject } from "@/lib/api/types";

import { placesOf } from "../model/placement";
import { nextOf, stepsOf } from "../model/standing";
import styles from "./workload-page.module.css";

export function Leaving({ workload }: { workload: WorkloadObject }) {
  const { eviction } = workload.status ?? {};
  if (!eviction) return null;
  const next = nextOf(eviction);
  return (
    <Card title="It is leaving" aside={<RoundOf eviction={eviction} />}>
      <ol className={styles.steps}>
        {stepsOf(eviction).map(({ words, at }) => (
          <li key={words}>
            {words} <Moment at={at} />
          </li>
        ))}
        {next && (
          <li className={styles.soft}>
            {next.words}: <Moment at={next.at} />
          </li>
        )}
      </ol>
    </Card>
  );
}

function RoundOf({ eviction }: { eviction: Eviction }) {
  if (eviction.reason !== "Preempted") return <>{eviction.reason}</>;
  return <Go to={`/preemptions/${encodeURIComponent(eviction.id)}`}>For whom, and why</Go>;
}

export function Nominated({ workload }: { workload: WorkloadObject }) {
  const nominated = workload.status?.nominatedPlacement;
  if (!nominated) return null;
  const hosts = nominated.podSetAssignments.flatMap(placesOf);
  return (
    <Card title="Room is being made for it" aside={nominated.round && <Go to={`/preemptions/${encodeURIComponent(nominated.round)}`}>Who has to leave</Go>}>
      <p className={styles.note}>
        It is to have a place in <Go to={`/queues/${encodeURIComponent(nominated.clusterQueue)}`}>{nominated.clusterQueue}</Go>
        {hosts.length > 0 && ", on these hosts"}.
      </p>
      {hosts.length > 0 && (
        <ul className={styles.hosts} aria-label="Nominated hosts">
          {hosts.map(({ host, pods }, index) => (
            <li key={index} className={styles.host}>
              <Go to={`/topology?host=${encodeURIComponent(host)}`}>{host}</Go> × {pods}
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}
