// The outcome of a simulation: the simulated workloads, the impact on other workloads, and the predicted preemptions in order.
import { ArrowRight, CirclePlay, CircleX, Clock, type LucideIcon, Target } from "lucide-react";

import { Badge, type Tone } from "@/components/ui/badge";
import { RouterLink } from "@/components/ui/router-link";
import { Card } from "@/components/ui/layout";
import { PlainTable } from "@/components/ui/plain-table";
import { Timestamp } from "@/components/ui/timestamp";
import type { Effect, Foreseen, Simulation } from "@/lib/api/types";
import { workloadAddress } from "@/lib/events";
import { domainsOf, type TopologyAssignment } from "@/lib/topology-assignment";

import { effectTone, effectWords, verdictWords } from "../model/outcomes";
import styles from "./what-if.module.css";

/** `at` is the state that the simulation began with; without it the current one. */
export function Outcome({ found, at }: { found: Simulation; at?: string }) {
  return (
    <>
      {found.workloads.map((workload) => (
        <OneWorkload key={workload.workload} workload={workload} />
      ))}
      <Card title="Impact on other workloads" aside={`${found.starts} would start, ${found.evictions} would be evicted`}>
        {found.effects.length === 0 ? <p className={styles.quiet}>No other workloads affected</p> : <Effects effects={found.effects} />}
      </Card>
      {found.rounds.length > 0 && (
        <Card title="Predicted preemptions" padded>
          <ol className={styles.rounds}>
            {found.rounds.map((round, number) => (
              <li key={number}>
                <strong>{round.preemptor}</strong>
                {round.because ? " (a victim earlier in this simulation)" : ""}: {round.victims.map((victim) => `${victim.workload} (${victim.reason})`).join(", ")}
              </li>
            ))}
          </ol>
        </Card>
      )}
      <p className={styles.assumptions}>
        <span title={`Event #${found.asOf.position}`}>Simulated on the {at === undefined ? "current state" : <>state of <Timestamp at={at} /></>}. Nothing was applied.</span> {found.assumptions.join(" ")}
      </p>
    </>
  );
}

const LOOKS: Record<Foreseen["verdict"], { tone: Tone; icon: LucideIcon }> = {
  Admitted: { tone: "good", icon: CirclePlay },
  MakesRoom: { tone: "move", icon: Target },
  Waits: { tone: "wait", icon: Clock },
  Gone: { tone: "idle", icon: CircleX },
};

function OneWorkload({ workload }: { workload: Foreseen }) {
  const { position, blockers = [], wouldUnblock = [], victims = [] } = workload;
  const others = blockers.filter((_, number) => number !== workload.deciding);
  const { tone, icon: Icon } = LOOKS[workload.verdict];
  return (
    <section className={styles.verdictCard} data-tone={tone} aria-label={workload.workload}>
      <div className={styles.stack} role="status" data-verdict={workload.verdict}>
        <p className={styles.verdict}>
          <Icon aria-hidden="true" />
          {verdictWords(workload)}
        </p>
        <p className={styles.name}>{workload.workload}</p>
        <p>{workload.sentence}</p>
        {position?.clusterQueue && (
          <p>
            Queue position {position.clusterQueue} of {position.of} in {workload.clusterQueue}.
          </p>
        )}
        {victims.length > 0 && <p>Would preempt: {victims.map((victim) => victim.workload).join(", ")}</p>}
        {workload.admission && <Places admission={workload.admission} />}
        {others.length > 0 && (
          <details className={styles.more}>
            <summary>{others.length === 1 ? "1 other constraint" : `${others.length} other constraints`}</summary>
            <ul className={styles.blockers}>
              {others.map((blocker) => (
                <li key={blocker.message}>{blocker.message}</li>
              ))}
            </ul>
          </details>
        )}
        {wouldUnblock.length > 0 && (
          <div>
            <p>How to unblock:</p>
            <ul className={styles.blockers}>
              {wouldUnblock.map((remedy) => (
                <li key={remedy}>{remedy}</li>
              ))}
            </ul>
          </div>
        )}
      </div>
    </section>
  );
}

interface Assigned {
  name: string;
  count: number;
  flavors: Record<string, string>;
  topologyAssignment?: TopologyAssignment;
}

const MAX_HOSTS = 8;

function Places({ admission }: { admission: Record<string, unknown> }) {
  const assigned = (admission["podSetAssignments"] ?? []) as Assigned[];
  return (
    <ul>
      {assigned.map((one) => (
        <li key={one.name}>
          {one.count} × {one.name}: {Object.entries(one.flavors).map(([resource, flavor]) => `${resource} from ${flavor}`).join(", ")}
          {hostWords(one)}
        </li>
      ))}
    </ul>
  );
}

function hostWords({ topologyAssignment }: Assigned): string {
  const domains = domainsOf(topologyAssignment);
  if (domains.length === 0) return "";
  const named = domains.slice(0, MAX_HOSTS).map(({ values, count }) => `${values.at(-1) ?? ""} (${count})`);
  const more = domains.length > MAX_HOSTS ? ` and ${domains.length - MAX_HOSTS} more` : "";
  return `; on ${named.join(", ")}${more}`;
}

function Effects({ effects }: { effects: Effect[] }) {
  return (
    <PlainTable label="Impact on other workloads" heads={["Workload", "Effect", "Before → After"]}>
      {effects.map((effect) => (
        <tr key={effect.workload}>
          <td>
            <RouterLink to={workloadAddress(effect.workload)}>{effect.workload}</RouterLink>
          </td>
          <td>
            <Badge tone={effectTone(effect)} icon={effectTone(effect) === "bad" ? CircleX : CirclePlay}>
              {effectWords(effect)}
            </Badge>
          </td>
          <td className={styles.change}>
            {effect.without ?? "none"} <ArrowRight aria-label="becomes" /> {effect.withChange ?? "removed"}
          </td>
        </tr>
      ))}
    </PlainTable>
  );
}
