// One cycle: its input, its decisions in order, and its rerun.
import { useMutation, useQuery } from "@tanstack/react-query";
import { CircleCheck, CircleX, RotateCw } from "lucide-react";

import { Badge } from "@/components/ui/badge";
import { Button } from "@/components/ui/button";
import { EventLine } from "@/components/ui/event-line";
import { RouterLink } from "@/components/ui/router-link";
import { Card, Page } from "@/components/ui/layout";
import { Timestamp } from "@/components/ui/timestamp";
import { Empty, Failed } from "@/components/ui/states";
import { View } from "@/components/ui/view";
import type { CycleDetail, CycleRerun } from "@/lib/api/types";
import { showMoment } from "@/lib/past";

import { cycleQuery, runAgain } from "../api/cycles";
import { durationWords, outcomeWords } from "../model/cycles";
import styles from "./cycles.module.css";

export function CyclePage({ id }: { id: string }) {
  const cycle = useQuery(cycleQuery(id));
  return (
    <Page
      title="Scheduling cycle"
      over={
        <>
          <RouterLink to="/cycles">Scheduling cycles</RouterLink>
          <span className="mono">{id}</span>
        </>
      }
      lead={cycle.data && `${outcomeWords(cycle.data.cycle)} in ${cycle.data.cycle.partition}`}
    >
      <View query={cycle}>{(found) => <Body found={found} id={id} />}</View>
    </Page>
  );
}

function Body({ found, id }: { found: CycleDetail; id: string }) {
  const { cycle, events } = found;
  return (
    <>
      <div className={styles.columns}>
        <Card title="Details">
          <dl className={styles.facts}>
            <dt>Time</dt>
            <dd>
              <Timestamp at={cycle.at} /> by <span className="mono">{cycle.worker}</span>
            </dd>
            <dt>Input</dt>
            <dd>
              Event log up to #{cycle.inputPosition}{" "}
              <Button look="quiet" onClick={() => showMoment(String(cycle.inputPosition))}>
                View state at this time
              </Button>
            </dd>
            <dt>Heads evaluated</dt>
            <dd>
              {cycle.heads} in {cycle.cycles} {cycle.cycles === 1 ? "cycle" : "cycles"}; {cycle.inadmissible} inadmissible
            </dd>
            <dt>Duration</dt>
            <dd>
              {durationWords(cycle.planningMicroseconds)} planning, {durationWords(cycle.commitMicroseconds)} commit
            </dd>
            <dt>Earlier conflicts</dt>
            <dd>{cycle.conflicts}</dd>
          </dl>
        </Card>
        <RunAgain id={id} />
      </div>
      <Card title="Decisions" aside={events.length === 1 ? "1 event" : `${events.length} events`}>
        {events.length === 0 ? (
          <Empty title="No events">
            <p>{cycle.outcome === "Conflict" ? "Discarded due to a write conflict; nothing was recorded." : "You don't have access to these events."}</p>
          </Empty>
        ) : (
          <ol className={styles.events}>
            {events.map((fact) => (
              <EventLine key={fact.position} fact={fact} />
            ))}
          </ol>
        )}
      </Card>
    </>
  );
}

function RunAgain({ id }: { id: string }) {
  const rerun = useMutation({ mutationFn: () => runAgain(id) });
  return (
    <Card title="Replay" padded>
      <div className={styles.again}>
        <p>Replays the cycle and verifies that it produces identical events. Read-only.</p>
        <Button look="primary" onClick={() => rerun.mutate()}>
          <RotateCw aria-hidden="true" />
          {rerun.isPending ? "Replaying…" : "Replay"}
        </Button>
        {rerun.isError && <Failed error={rerun.error} />}
        {rerun.data && <Result rerun={rerun.data} />}
      </div>
    </Card>
  );
}

function Result({ rerun }: { rerun: CycleRerun }) {
  return (
    <div role="status">
      {rerun.isSame ? (
        <Badge tone="good" icon={CircleCheck}>
          {rerun.events === 1 ? "Identical: 1 event" : `Identical: ${rerun.events} events`}
        </Badge>
      ) : (
        <Badge tone="bad" icon={CircleX}>
          Different: {rerun.firstDifference}
        </Badge>
      )}
      <p className={styles.digest}>SHA-256 {rerun.digestReplayed}</p>
    </div>
  );
}
