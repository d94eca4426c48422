// What happened to a workload: its life as one strip, and every event with an address of its own.
import { useQuery } from "@tanstack/react-query";
import { ChevronDown, ChevronRight, Link2 } from "lucide-react";
import { useEffect, useState } from "react";

import { Button } from "@/components/ui/button";
import { FactBadge } from "@/components/ui/event-line";
import { Go } from "@/components/ui/go";
import { Card } from "@/components/ui/layout";
import { Moment } from "@/components/ui/moment";
import { View } from "@/components/ui/view";
import { workloadAddress } from "@/lib/events";
import { formatDuration } from "@/lib/format/times";
import { useNow } from "@/lib/hooks/use-now";
import { useUrl } from "@/lib/hooks/use-url";
import type { TimelineEntry } from "@/lib/api/types";

import { timelineQuery } from "../api/workloads";
import { foldReasons, type Mark, type MarkGroup, marksOf, stretchesOf } from "../model/life";
import styles from "./workload-timeline.module.css";

export function WorkloadTimeline({ workloadKey }: { workloadKey: string }) {
  const timeline = useQuery(timelineQuery(workloadKey));
  const chosen = useUrl().get("event");
  return (
    <Card title="Timeline" aside={timeline.data && countWords(timeline.data.entries.length)}>
      <View query={timeline}>
        {({ entries }) => (
          <>
            <LifeStrip entries={entries} />
            <ol className={styles.marks} aria-label="Events, newest first">
              {foldReasons(marksOf(entries)).map((group) => (
                <GroupLines key={group.at(-1)?.entry.position} group={group} workloadKey={workloadKey} chosen={chosen} />
              ))}
            </ol>
          </>
        )}
      </View>
    </Card>
  );
}

function countWords(count: number): string {
  return count === 1 ? "1 event" : `${count} events`;
}

function LifeStrip({ entries }: { entries: TimelineEntry[] }) {
  const now = new Date(useNow()).toISOString();
  const stretches = stretchesOf(entries, now);
  const words = stretches.map((stretch) => `${stretch.words} ${formatDuration(stretch.seconds)}`);
  return (
    <div className={styles.strip} role="img" aria-label={words.join(", then ")}>
      {stretches.map((stretch, index) => (
        <div
          key={stretch.from}
          className={`${styles.stretch ?? ""} ${styles[stretch.tone] ?? ""}`}
          style={{ flexGrow: stretch.share }}
          title={words[index]}
        >
          <span>{stretch.words}</span>
          <span className="number">{formatDuration(stretch.seconds)}</span>
        </div>
      ))}
    </div>
  );
}

// A group is known by its oldest mark, which stays while newer ones come.
function GroupLines({ group, workloadKey, chosen }: { group: MarkGroup; workloadKey: string; chosen: string }) {
  const [newest, ...earlier] = group;
  const [unfolded, setUnfolded] = useState(false);
  const line = (mark: Mark) => <MarkLine key={mark.entry.position} mark={mark} workloadKey={workloadKey} chosen={chosen} />;
  if (earlier.length === 0) return line(newest);
  const open = unfolded || earlier.some((mark) => chosen === String(mark.entry.position));
  const oldest = earlier.at(-1) ?? newest;
  return (
    <>
      {line(open ? newest : { ...newest, idleSeconds: 0 })}
      <li className={styles.fold}>
        <Button look="quiet" aria-expanded={open} onClick={() => setUnfolded(!open)}>
          {open ? <ChevronDown aria-hidden="true" /> : <ChevronRight aria-hidden="true" />}
          {earlier.length === 1 ? "1 earlier reason" : `${earlier.length} earlier reasons`}
        </Button>
        <span className={styles.when}>
          the first <Moment at={oldest.entry.at} />
        </span>
      </li>
      {open ? earlier.map(line) : <Idle seconds={oldest.idleSeconds} />}
    </>
  );
}

function MarkLine({ mark, workloadKey, chosen }: { mark: Mark; workloadKey: string; chosen: string }) {
  const { entry, idleSeconds } = mark;
  const id = `event-${entry.position}`;
  const isChosen = chosen === String(entry.position);
  useEffect(() => {
    if (isChosen) document.getElementById(id)?.scrollIntoView({ block: "center" });
  }, [isChosen, id]);
  const person = entry.actor.startsWith("user:") ? entry.actor.slice("user:".length) : entry.actor;
  return (
    <>
      <li id={id} className={`${styles.mark ?? ""} ${isChosen ? (styles.chosen ?? "") : ""}`}>
        <span className={styles.what}>
          <FactBadge fact={{ type: entry.type, data: entry.data }} />
          <span>{entry.title}</span>
        </span>
        <span className={styles.when}>
          <Moment at={entry.at} />
          <Go to={`${workloadAddress(workloadKey)}?event=${entry.position}`} aria-label={`Link to event ${entry.position}`}>
            <Link2 aria-hidden="true" />
          </Go>
        </span>
        {entry.detail && <span className={styles.detail}>{entry.detail}</span>}
        <span className={styles.who}>
          {person}
          {entry.reason ? `: “${entry.reason}”` : ""} · <span className="number">#{entry.position}</span>
        </span>
      </li>
      <Idle seconds={idleSeconds} />
    </>
  );
}

function Idle({ seconds }: { seconds: number }) {
  return seconds > 0 && <li className={styles.idle}>{formatDuration(seconds)} without change</li>;
}
