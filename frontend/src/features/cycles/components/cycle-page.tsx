// One cycle: what it decided, in order, how long it took, and whether a rerun gives the same events.
import { useMutation, useQuery } from "@tanstack/react-query";
import { CircleCheck, CircleX, RotateCw } from "lucide-react";
import { useMemo } from "react";

import { Badge } from "@/components/ui/badge";
import { Button } from "@/components/ui/button";
import { CopyButton } from "@/components/ui/code-block";
import { EventLine, FactBadge, Subject } from "@/components/ui/event-line";
import { Figures } from "@/components/ui/figures";
import { PlainTable } from "@/components/ui/plain-table";
import { RouterLink } from "@/components/ui/router-link";
import { Card, Page } from "@/components/ui/layout";
import { Timestamp } from "@/components/ui/timestamp";
import { Empty, Failed } from "@/components/ui/states";
import { View } from "@/components/ui/view";
import type { Cycle, CycleDetail, CycleRerun } from "@/lib/api/types";
import { factDetail } from "@/lib/events";
import { formatClock } from "@/lib/format/times";
import { showMoment } from "@/lib/past";

import { cycleQuery, nextCycleQuery, runAgain } from "../api/cycles";
import { type Decision, decisionsOf, durationWords, outcomeWords } from "../model/cycles";
import styles from "./cycles.module.css";

export function CyclePage({ id }: { id: string }) {
  const cycle = useQuery(cycleQuery(id));
  const rerun = useMutation({ mutationFn: () => runAgain(id) });
  return (
    <Page
      title={cycle.data === undefined ? "Scheduling cycle" : `Scheduling cycle ${formatClock(cycle.data.cycle.at)}`}
      over={<RouterLink to="/cycles">Scheduling cycles</RouterLink>}
      lead={cycle.data && `${cycle.data.cycle.partition}: ${outcomeWords(cycle.data.cycle)}`}
      actions={
        <>
          {cycle.data && (
            <Button look="quiet" hint={`Event #${cycle.data.cycle.inputPosition}`} onClick={() => showMoment(String(cycle.data.cycle.inputPosition))}>
              View state before it
            </Button>
          )}
          <CopyButton text={id} label="Copy ID" />
          <Button refusal={cycle.data?.cycle.outcome === "Conflict" ? "Nothing was recorded" : undefined} hint="Plans the cycle again and compares the events. Nothing is written." onClick={() => rerun.mutate()}>
            <RotateCw aria-hidden="true" />
            {rerun.isPending ? "Verifying…" : "Verify"}
          </Button>
        </>
      }
    >
      {rerun.isError && <Failed error={rerun.error} />}
      {rerun.data && <Result rerun={rerun.data} />}
      <View query={cycle}>{(found) => <Body found={found} />}</View>
    </Page>
  );
}

function Body({ found: { cycle, events } }: { found: CycleDetail }) {
  const decisions = useMemo(() => decisionsOf(events), [events]);
  return (
    <div className={styles.stack}>
      <Figures
        label="Figures of the cycle"
        items={[
          { words: "Evaluated", value: cycle.heads, detail: `in ${cycle.cycles} ${cycle.cycles === 1 ? "cycle" : "cycles"}` },
          { words: "Inadmissible", value: cycle.inadmissible, detail: "when it began" },
          { words: "Planning", value: durationWords(cycle.planningMicroseconds), detail: `commit ${durationWords(cycle.commitMicroseconds)}` },
          { words: "Earlier conflicts", value: cycle.conflicts, detail: "planned again" },
          { words: "Time", value: <Timestamp at={cycle.at} />, detail: cycle.worker },
        ]}
      />
      <Card title="Workloads in order" aside={headWords(cycle, decisions)}>
        {events.length === 0 ? <NoEvents cycle={cycle} /> : <Decisions decisions={decisions} />}
      </Card>
      {events.length > 0 && (
        <details className={styles.all}>
          <summary>{events.length === 1 ? "1 event" : `${events.length.toLocaleString("en")} events`}</summary>
          <ol className={styles.events}>
            {events.map((fact) => (
              <EventLine key={fact.position} fact={fact} />
            ))}
          </ol>
        </details>
      )}
    </div>
  );
}

/** Of those that were evaluated, the others keep the decision that they had. */
function headWords({ heads, cycles }: Cycle, decisions: readonly Decision[]): string {
  const told = decisions.filter(({ place }) => place !== undefined).length;
  const evaluated = `${heads.toLocaleString("en")} evaluated${cycles > 1 ? ` in ${cycles} cycles` : ""}`;
  return `${evaluated}, ${told.toLocaleString("en")} with a new decision or reason`;
}

function Decisions({ decisions }: { decisions: readonly Decision[] }) {
  return (
    <PlainTable label="Workloads in order" heads={[{ words: "#", figure: true }, "Workload", "Decision and reason"]}>
      {decisions.map(({ place, stream, fact }) => (
        <tr key={stream}>
          <td data-figure>{place ?? "—"}</td>
          <th scope="row" className={styles.head}>
            <Subject stream={stream} />
          </th>
          <td className={styles.decision}>
            <FactBadge fact={fact} /> {factDetail(fact)}
          </td>
        </tr>
      ))}
    </PlainTable>
  );
}

/** A refused plan tells when its partition was planned next. */
function NoEvents({ cycle }: { cycle: Cycle }) {
  const isConflict = cycle.outcome === "Conflict";
  const next = useQuery({ ...nextCycleQuery(cycle), enabled: isConflict }).data;
  if (!isConflict) {
    return (
      <Empty title="No events">
        <p>You don't have access to these events.</p>
      </Empty>
    );
  }
  return (
    <Empty title={`Conflict: ${cycle.partition} changed during planning`}>
      <p>{next ? `Nothing was recorded; the next cycle is ${formatClock(next)}.` : "Nothing was recorded; it was planned again."}</p>
    </Empty>
  );
}

function Result({ rerun }: { rerun: CycleRerun }) {
  return (
    <div role="status" className={styles.rerun}>
      {rerun.isSame ? (
        <Badge tone="good" icon={CircleCheck}>
          Same events: yes, {rerun.events === 1 ? "1 event" : `${rerun.events} events`}
        </Badge>
      ) : (
        <Badge tone="bad" icon={CircleX}>
          Same events: no, {rerun.firstDifference}
        </Badge>
      )}
      <span className={styles.detail} title={rerun.digestReplayed}>
        SHA-256 {rerun.digestReplayed.slice(0, 12)}…
      </span>
      <CopyButton text={rerun.digestReplayed} label="Copy SHA-256" />
    </div>
  );
}
