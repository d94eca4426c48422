// What happened to a workload: its life as one strip, and every event with an address of its own.
import { useInfiniteQuery } from "@tanstack/react-query";
import { ChevronDown, ChevronRight, Link2 } from "lucide-react";
import { type ReactElement, type ReactNode, useEffect, useRef, useState } from "react";

import { Button } from "@/components/ui/button";
import { FactMark } from "@/components/ui/event-line";
import { RouterLink } from "@/components/ui/router-link";
import { Card } from "@/components/ui/layout";
import { Timestamp } from "@/components/ui/timestamp";
import { View } from "@/components/ui/view";
import { workloadAddress } from "@/lib/events";
import { formatDuration, withLocalTimes } from "@/lib/format/times";
import { useNow } from "@/lib/hooks/use-now";
import { nextPage } from "@/lib/api/next-page";
import { useUrl } from "@/lib/hooks/use-url";

import { timelineQuery } from "../api/workloads";
import { foldReasons, isEarlier, isReason, type PhaseTimeline, type Mark, type MarkGroup, marksOf, phaseSpansOf } from "../model/phase-timeline";
import { PhaseSpans } from "./phase-spans";
import styles from "./workload-timeline.module.css";

export function WorkloadTimeline({ workloadKey }: { workloadKey: string }) {
  const timeline = useInfiniteQuery(timelineQuery(workloadKey));
  const chosen = useUrl().get("event");
  const { data: life, hasNextPage, isFetching, fetchNextPage } = timeline;
  const isFarther = life !== undefined && isEarlier(life, chosen);
  useEffect(() => {
    if (isFarther && hasNextPage && !isFetching) void fetchNextPage();
  }, [isFarther, hasNextPage, isFetching, fetchNextPage]);
  return (
    <Card title="Timeline" aside={life && countWords(life.entries.length + life.earlier)}>
      <View query={timeline}>
        {(found) => (
          <>
            <PhaseStrip life={found} />
            <Marks
              life={found}
              workloadKey={workloadKey}
              chosen={chosen}
              isLoading={timeline.isFetchingNextPage}
              more={hasNextPage ? () => nextPage(timeline, ({ entries }) => entries.length) : undefined}
            />
          </>
        )}
      </View>
    </Card>
  );
}

function countWords(count: number): string {
  return count === 1 ? "1 event" : `${count} events`;
}

/** A phase is chosen by the event that it begins with. */
function PhaseStrip({ life: { entries, earlier } }: { life: PhaseTimeline }) {
  const url = useUrl();
  const now = new Date(useNow()).toISOString();
  const open = (from: string) => url.change({ event: String(entries.find(({ at }) => at === from)?.position ?? "") }, "replace");
  return (
    <div className={styles.strip}>
      {earlier > 0 && <span className={styles.before}>Before: {countWords(earlier)}</span>}
      <PhaseSpans label="Phases" spans={phaseSpansOf(entries, now)} onOpen={open} />
    </div>
  );
}

interface MarksProps {
  life: PhaseTimeline;
  workloadKey: string;
  chosen: string;
  isLoading: boolean;
  /** Loads earlier entries and tells whether there are still more; undefined where there are none. */
  more: (() => Promise<boolean>) | undefined;
}

function Marks({ life, workloadKey, chosen, isLoading, more }: MarksProps) {
  const list = useRef<HTMLOListElement>(null);
  const [unfolded, setUnfolded] = useState<ReadonlySet<number>>(new Set());
  const line = (mark: Mark) => <MarkLine key={mark.entry.position} mark={mark} workloadKey={workloadKey} chosen={chosen} />;
  const groups = foldReasons(marksOf(life.entries));
  const showMore = async () => {
    // The button goes with the last page: a keyboard user continues in the list.
    if (more !== undefined && !(await more())) list.current?.focus();
  };
  return (
    <>
      <ol ref={list} tabIndex={-1} className={styles.marks} aria-label="Events, newest first">
        {groups.map((group) => {
          const isOpen = group.some(({ entry }, index) => unfolded.has(entry.position) || (index > 0 && chosen === String(entry.position)));
          return linesOf(group, isOpen, line, () => setUnfolded(toggled(unfolded, group, isOpen)));
        })}
      </ol>
      {life.earlier > 0 && (
        <p className={styles.earlier}>
          {more === undefined ? (
            `${countWords(life.earlier)} earlier events are archived and can't be read here.`
          ) : (
            <Button onClick={() => void showMore()} refusal={isLoading ? "Loading…" : undefined}>
              Show earlier ({countWords(life.earlier)})
            </Button>
          )}
        </p>
      )}
    </>
  );
}

/** A group is open as long as one of its marks is among these: it stays so while it grows at either end. */
function toggled(unfolded: ReadonlySet<number>, group: MarkGroup, isOpen: boolean): ReadonlySet<number> {
  const changed = new Set(unfolded);
  for (const { entry } of group) {
    if (isOpen) changed.delete(entry.position);
    else changed.add(entry.position);
  }
  return changed;
}

// Lines of one list, each known by its own position: a group that grows makes none of them anew.
function linesOf(group: MarkGroup, isOpen: boolean, line: (mark: Mark) => ReactElement, onToggle: () => void): ReactNode[] {
  const [newest, ...earlier] = group;
  const oldest = earlier.at(-1);
  if (oldest === undefined) return [line(newest)];
  return [
    line(isOpen ? newest : { ...newest, idleSeconds: 0 }),
    <li key={`fold-${oldest.entry.position}`} className={styles.fold}>
      <Button look="quiet" aria-expanded={isOpen} onClick={onToggle}>
        {isOpen ? <ChevronDown aria-hidden="true" /> : <ChevronRight aria-hidden="true" />}
        {earlier.length === 1 ? "1 earlier reason" : `${earlier.length} earlier reasons`}
      </Button>
      <span className={styles.when}>
        the first <Timestamp at={oldest.entry.at} />
      </span>
    </li>,
    ...(isOpen ? earlier.map(line) : [<Idle key={`idle-${oldest.entry.position}`} seconds={oldest.idleSeconds} />]),
  ];
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
          <FactMark fact={{ type: entry.type, data: entry.data }} />
          <span>{entry.title}</span>
        </span>
        <span className={styles.when}>
          <Timestamp at={entry.at} />
          <RouterLink to={`${workloadAddress(workloadKey)}?event=${entry.position}`} aria-label={`Link to event ${entry.position}`} title={`Position ${entry.position}`}>
            <Link2 aria-hidden="true" />
          </RouterLink>
        </span>
        {entry.detail && <span className={styles.detail}>{withLocalTimes(entry.detail)}</span>}
        <span className={styles.actor}>
          {person}
          {entry.reason ? `: “${entry.reason}”` : ""}
          {isReason(entry) && (
            <>
              {" · "}
              <RouterLink to={`${workloadAddress(workloadKey)}?tab=timeline&at=${entry.position}`}>Reasons at that time</RouterLink>
            </>
          )}
        </span>
      </li>
      <Idle seconds={idleSeconds} />
    </>
  );
}

function Idle({ seconds }: { seconds: number }) {
  return seconds > 0 && <li className={styles.idle}>{formatDuration(seconds)} without change</li>;
}
