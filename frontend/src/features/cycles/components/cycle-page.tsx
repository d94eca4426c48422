// One cycle: what it decided, in order, how long it took, and whether a rerun gives the same events.
import { useMutation, useQuery } from "@tanstack/react-query";
import { CircleCheck, CircleX, RotateCw } from "lucide-react";

import { Badge } from "@/components/ui/badge";
import { Button } from "@/components/ui/button";
import { CopyButton } from "@/components/ui/code-block";
import { EventLine } from "@/components/ui/event-line";
import { Figures } from "@/components/ui/figures";
import { RouterLink } from "@/components/ui/router-link";
import { Card, Page } from "@/components/ui/layout";
import { Timestamp } from "@/components/ui/timestamp";
import { Empty, Failed } from "@/components/ui/states";
import { View } from "@/components/ui/view";
import type { CycleDetail, CycleRerun } from "@/lib/api/types";
import { formatClock } from "@/lib/format/times";
import { showMoment } from "@/lib/past";

import { cycleQuery, runAgain } from "../api/cycles";
import { durationWords, outcomeWords } from "../model/cycles";
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
          <Button hint="Plans the cycle again and compares the events. Nothing is written." onClick={() => rerun.mutate()}>
            <RotateCw aria-hidden="true" />
            {rerun.isPending ? "Replaying…" : "Replay"}
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
    </div>
  );
}

function Result({ rerun }: { rerun: CycleRerun }) {
  return (
    <div role="status" className={styles.rerun}>
      {rerun.isSame ? (
        <Badge tone="good" icon={CircleCheck}>
          {rerun.events === 1 ? "Identical: 1 event" : `Identical: ${rerun.events} events`}
        </Badge>
      ) : (
        <Badge tone="bad" icon={CircleX}>
          Different: {rerun.firstDifference}
        </Badge>
      )}
      <span className={styles.detail} title={rerun.digestReplayed}>
        SHA-256 {rerun.digestReplayed.slice(0, 12)}…
      </span>
      <CopyButton text={rerun.digestReplayed} label="Copy SHA-256" />
    </div>
  );
}
