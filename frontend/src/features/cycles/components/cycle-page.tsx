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
      title="Cycle"
      over={
        <>
          <RouterLink to="/cycles">Cycles</RouterLink>
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
        <Card title="Input and figures">
          <dl className={styles.facts}>
            <dt>Planned</dt>
            <dd>
              <Timestamp at={cycle.at} /> by <span className="mono">{cycle.worker}</span>
            </dd>
            <dt>Input</dt>
            <dd>
              The log up to #{cycle.inputPosition}.{" "}
              <Button look="quiet" onClick={() => showMoment(String(cycle.inputPosition))}>
                See everything as it was then
              </Button>
            </dd>
            <dt>Looked at</dt>
            <dd>
              {cycle.heads} in {cycle.cycles} {cycle.cycles === 1 ? "round" : "rounds"}; {cycle.inadmissible} {cycle.inadmissible === 1 ? "was" : "were"} inadmissible
            </dd>
            <dt>Took</dt>
            <dd>
              {durationWords(cycle.planningMicroseconds)} to plan, {durationWords(cycle.commitMicroseconds)} to commit
            </dd>
            <dt>Conflicts before</dt>
            <dd>{cycle.conflicts}</dd>
          </dl>
        </Card>
        <RunAgain id={id} />
      </div>
      <Card title="Decisions, in order" aside={events.length === 1 ? "1 fact" : `${events.length} facts`}>
        {events.length === 0 ? (
          <Empty title="No fact to show">
            <p>{cycle.outcome === "Conflict" ? "The log refused it, so that nothing was recorded." : "Its facts are about other teams."}</p>
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
    <Card title="Run it again" padded>
      <div className={styles.again}>
        <p>The same input through the same rules must give the same facts, byte by byte. Nothing is written.</p>
        <Button look="primary" onClick={() => rerun.mutate()}>
          <RotateCw aria-hidden="true" />
          {rerun.isPending ? "Running…" : "Run it again"}
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
          {rerun.events === 1 ? "The same fact" : `The same ${rerun.events} facts`} to the byte
        </Badge>
      ) : (
        <Badge tone="bad" icon={CircleX}>
          It comes out otherwise: {rerun.firstDifference}
        </Badge>
      )}
      <p className={styles.digest}>SHA-256 {rerun.digestReplayed}</p>
    </div>
  );
}
