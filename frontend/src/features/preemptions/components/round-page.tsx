// One preemption: preemptor, victims, rule, figures, progress and outcome.
import { useQuery } from "@tanstack/react-query";

import { RouterLink } from "@/components/ui/router-link";
import { Card, Page } from "@/components/ui/layout";
import { Timestamp } from "@/components/ui/timestamp";
import { PlainTable } from "@/components/ui/plain-table";
import { View } from "@/components/ui/view";
import { CodeBlock, CopyButton } from "@/components/ui/code-block";
import type { Round } from "@/lib/api/types";
import { typeWords, workloadAddress } from "@/lib/events";
import { byResource, formatAmount, shortResource } from "@/lib/format/amounts";
import { formatAbsolute } from "@/lib/format/times";

import { chainQuery, roundEventsQuery, roundQuery } from "../api/preemptions";
import { costWords } from "../model/ledger";
import { freedWords, isOpen, outcomeWords, releasedCount, searchWords, titleOf, usedAfter } from "../model/rounds";
import { StageBadge } from "./stage-badge";
import { StorylineView } from "./storyline-view";
import { VICTIM_HEADS, VictimRow } from "./victim-row";
import styles from "./preemptions.module.css";

export function RoundPage({ id }: { id: string }) {
  const round = useQuery(roundQuery(id));
  return (
    <Page
      title={round.data ? titleOf(round.data) : "Preemption"}
      over={
        <>
          <RouterLink to="/preemptions">Preemptions</RouterLink>
          {round.data && <StageBadge stage={round.data.stage} />}
          <CopyButton text={id} label="Copy ID" />
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
  const later = round.victims.filter(({ stage }) => stage === "LeftLater").length;
  return (
    <>
      <Card title="Victims" aside={`${released} of ${round.victims.length} stopped${later > 0 ? `, ${later} after the preemption ended` : ""}`}>
        <div className={styles.victims}>
          <PlainTable label="Evicted workloads" heads={VICTIM_HEADS}>
            {round.victims.map((victim) => (
              <VictimRow key={victim.workload} victim={victim} />
            ))}
          </PlainTable>
        </div>
      </Card>
      <div className={styles.columns}>
        <div className={styles.stack}>
          <Protected round={round} />
          <Figures round={round} />
        </div>
        <Decision round={round} />
      </div>
      <Chain round={round} />
      <Payloads id={round.id} />
    </>
  );
}

function Decision({ round }: { round: Round }) {
  return (
    <Card title="Decision">
      <dl className={styles.facts}>
        <dt>Preemptor</dt>
        <dd>
          <RouterLink to={workloadAddress(round.preemptor)}>{round.preemptor}</RouterLink>
        </dd>
        <dt>Priority</dt>
        <dd className="number">{round.preemptorPriority}</dd>
        <dt>ClusterQueue</dt>
        <dd>
          <RouterLink to={`/queues/${encodeURIComponent(round.clusterQueue)}`}>{round.clusterQueue}</RouterLink>
        </dd>
        <dt>Decided</dt>
        <dd>
          <span title={`Event log up to #${round.basisPosition}`}>
            <Timestamp at={round.committedAt} />
          </span>
        </dd>
        <dt>Resources freed</dt>
        <dd>{freedWords(round.victims) || "nothing"}</dd>
        <dt>Lost work</dt>
        <dd>{costWords(round)}</dd>
        <dt>Search</dt>
        <dd>{searchWords(round)}</dd>
        <dt>Basis</dt>
        <dd>{round.guaranteeing ? "reclaims nominal quota of its ClusterQueue" : "higher priority or lower share"}</dd>
        {round.budgetViolations > 0 && (
          <>
            <dt>Budgets</dt>
            <dd className={styles.warning}>{round.budgetViolations === 1 ? "1 victim violates a budget" : `${round.budgetViolations} victims violate a budget`}</dd>
          </>
        )}
        <dt>Started</dt>
        <dd>{round.startedAt ? <Timestamp at={round.startedAt} /> : isOpen(round) ? "not yet" : "not by this preemption"}</dd>
        {isOpen(round) && round.expiresAt && (
          <>
            <dt>Times out</dt>
            <dd>
              <Timestamp at={round.expiresAt} />, if victims do not stop
            </dd>
          </>
        )}
        {round.endedAt && (
          <>
            <dt>Ended</dt>
            <dd>
              <Timestamp at={round.endedAt} />
            </dd>
          </>
        )}
      </dl>
    </Card>
  );
}

function Figures({ round }: { round: Round }) {
  const figures = [...(round.figures ?? [])].sort((one, other) => byResource(one.resource, other.resource));
  if (figures.length === 0) return null;
  return (
    <Card title="Quota at decision time" aside={round.cohort ? `Cohort ${round.cohort}` : undefined}>
      <PlainTable label="Quota figures" heads={["ClusterQueue", ...["Used, before > after", "Nominal", "Requested"].map((words) => ({ words, figure: true as const }))]}>
        {figures.map((line) => (
          <tr key={`${line.clusterQueue} ${line.flavor} ${line.resource}`}>
            <th scope="row">
              {line.clusterQueue} <span className={styles.soft}>
                {shortResource(line.resource)} of {line.flavor}
              </span>
            </th>
            <td data-figure>
              {formatAmount(line.resource, line.used, line.nominal)} &gt; {formatAmount(line.resource, usedAfter(round, line), line.nominal)}
            </td>
            <td data-figure>{formatAmount(line.resource, line.nominal)}</td>
            <td data-figure>{line.wanted ? formatAmount(line.resource, line.wanted, line.nominal) : "—"}</td>
          </tr>
        ))}
      </PlainTable>
    </Card>
  );
}

/** What the log has of the round, each event as it was recorded. */
function Payloads({ id }: { id: string }) {
  const events = useQuery(roundEventsQuery(id)).data?.items ?? [];
  if (events.length === 0) return null;
  return (
    <Card title="Payload" aside={`${events.length} ${events.length === 1 ? "event" : "events"}`}>
      {events.map((event) => (
        <details key={event.position} className={styles.payload}>
          <summary>
            {typeWords(event.type)} <span className={styles.soft}>{formatAbsolute(event.at)}</span>
          </summary>
          <p>
            <RouterLink to={`/events?open=${event.position}`}>Event #{event.position}</RouterLink>
          </p>
          <CodeBlock label="event" text={JSON.stringify(event.data, null, 2)} />
        </details>
      ))}
    </Card>
  );
}

function Chain({ round }: { round: Round }) {
  const chain = useQuery(chainQuery(round.id));
  const rounds = chain.data?.rounds ?? [];
  if (rounds.length < 2) return null;
  return (
    <Card title="Preemption chain" aside={`${rounds.length} related preemptions`}>
      <StorylineView rounds={rounds} current={round.id} />
    </Card>
  );
}

function Protected({ round }: { round: Round }) {
  return (
    <Card title="Refused" aside={`${round.refused?.length ?? 0} of ${round.considered} candidates`}>
      {(round.refused ?? []).length === 0 ? (
        <p className={styles.quiet}>No candidate was refused</p>
      ) : (
        <ul className={styles.refused}>
          {round.refused?.map(({ workload, rule }) => (
            <li key={workload}>
              <RouterLink to={workloadAddress(workload)}>{workload}</RouterLink>
              <span className={styles.soft}>{rule}</span>
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}
