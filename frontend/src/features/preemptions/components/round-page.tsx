// One preemption: who, whom, by which rule, with which numbers, how far it has come, and how it ended.
import { useQuery } from "@tanstack/react-query";
import { CircleCheck, Hourglass } from "lucide-react";

import { Badge } from "@/components/ui/badge";
import { Go } from "@/components/ui/go";
import { Card, Page } from "@/components/ui/layout";
import { Moment } from "@/components/ui/moment";
import { View } from "@/components/ui/view";
import type { Round, RoundVictim } from "@/lib/api/types";
import { workloadAddress } from "@/lib/events";
import { formatDuration } from "@/lib/format/times";

import { roundQuery } from "../api/preemptions";
import { amountOfFlavor, freedWords, lostHours, outcomeWords, releasedCount, ruleWords } from "../model/rounds";
import { StageBadge } from "./stage-badge";
import styles from "./preemptions.module.css";

export function RoundPage({ id }: { id: string }) {
  const round = useQuery(roundQuery(id));
  return (
    <Page
      title={round.data ? `Room for ${round.data.preemptor}` : "Preemption"}
      over={
        <>
          <Go to="/preemptions">Preemptions</Go>
          {round.data && <StageBadge stage={round.data.stage} />}
          <span className="mono">{id}</span>
        </>
      }
      lead={round.data && outcomeWords(round.data)}
    >
      <View query={round}>{(found) => <Body round={found} />}</View>
    </Page>
  );
}

function Body({ round }: { round: Round }) {
  const released = releasedCount(round);
  return (
    <>
      <div className={styles.columns}>
        <Decision round={round} />
        <Protected round={round} />
      </div>
      <Card title="Who had to go" aside={`${released} of ${round.victims.length} have gone`}>
        <div className={styles.scroll} tabIndex={0} role="region" aria-label="Victims">
          <table className={styles.table}>
            <thead>
              <tr>
                <th scope="col">Workload</th>
                <th scope="col">Rule</th>
                <th scope="col">Priority</th>
                <th scope="col">Frees</th>
                <th scope="col">Had run</th>
                <th scope="col">Now</th>
              </tr>
            </thead>
            <tbody>
              {round.victims.map((victim) => (
                <VictimRow key={victim.workload} victim={victim} />
              ))}
            </tbody>
          </table>
        </div>
      </Card>
    </>
  );
}

function Decision({ round }: { round: Round }) {
  return (
    <Card title="The decision">
      <dl className={styles.facts}>
        <dt>Preemptor</dt>
        <dd>
          <Go to={workloadAddress(round.preemptor)}>{round.preemptor}</Go>, priority {round.preemptorPriority}, in{" "}
          <Go to={`/queues/${encodeURIComponent(round.clusterQueue)}`}>{round.clusterQueue}</Go>
        </dd>
        <dt>Decided</dt>
        <dd>
          <Moment at={round.committedAt} />, on what was known at position #{round.basisPosition}
        </dd>
        <dt>Looked at</dt>
        <dd>
          {round.considered} {round.considered === 1 ? "candidate" : "candidates"}, {round.refused?.length ?? 0} protected by a rule
        </dd>
        <dt>Frees</dt>
        <dd>{freedWords(round.victims) || "nothing"}</dd>
        <dt>Lost work</dt>
        <dd>{lostHours(round.victims, "nvidia.com/gpu").toFixed(1)} GPU-hours</dd>
        {round.endedAt && (
          <>
            <dt>Ended</dt>
            <dd>
              <Moment at={round.endedAt} />
            </dd>
          </>
        )}
      </dl>
    </Card>
  );
}

function Protected({ round }: { round: Round }) {
  return (
    <Card title="Protected" aside="Considered, and not taken">
      {(round.refused ?? []).length === 0 ? (
        <p className={styles.quiet}>No candidate was refused.</p>
      ) : (
        <ul className={styles.refused}>
          {round.refused?.map(({ workload = "", rule }) => (
            <li key={workload}>
              <Go to={workloadAddress(workload)}>{workload}</Go>
              <span className={styles.soft}>{rule}</span>
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}

function VictimRow({ victim }: { victim: RoundVictim }) {
  const freed = Object.entries(victim.freed).map(([key, amount]) => amountOfFlavor(key, amount));
  return (
    <tr>
      <th scope="row">
        <Go to={workloadAddress(victim.workload)}>{victim.workload}</Go>
        <span className={styles.soft}>
          {" "}
          in {victim.clusterQueue}, {victim.pods} pods
        </span>
      </th>
      <td>{ruleWords(victim.reason)}</td>
      <td className="number">{victim.priority}</td>
      <td className="number">{freed.join(", ")}</td>
      <td className="number">{formatDuration(victim.runningSeconds)}</td>
      <td>
        {victim.released ? (
          <Badge tone="good" icon={CircleCheck}>
            Gone
          </Badge>
        ) : (
          <Badge tone="wait" icon={Hourglass}>
            Stopping
          </Badge>
        )}
      </td>
    </tr>
  );
}
