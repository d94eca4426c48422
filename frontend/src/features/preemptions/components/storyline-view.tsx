// Rounds over time: a lane for each workload or queue, and arrows from preemptors to victims.
import { useRouter } from "@tanstack/react-router";
import { type MouseEvent, useEffect, useId, useMemo, useRef, useState } from "react";

import { Button } from "@/components/ui/button";
import { ObjectName } from "@/components/ui/object-name";
import { PlainTable } from "@/components/ui/plain-table";
import { RouterLink } from "@/components/ui/router-link";
import type { Round } from "@/lib/api/types";
import { workloadAddress } from "@/lib/events";
import { formatAbsolute, formatClock } from "@/lib/format/times";
import { useHotkeys } from "@/lib/hooks/use-hotkeys";

import { victimWords } from "../model/ledger";
import { outcomeWords } from "../model/rounds";
import { clampShown, type Column, MAX_LANES, OTHER_QUEUES, sentenceOf, type Storyline, storyline, type TimeAxis, timeAxis } from "../model/storyline";
import styles from "./storyline-view.module.css";

const ROW = 24;
const AXIS = 24;
const DOT = 5;
const MARGIN = 32;
/** A round is so far from the next one at least; victims in the lane of their preemptor need more. */
const GAPS = { workload: 24, queue: 44 };
/** Times are so far apart. */
const TICK = 72;
/** A victim in the lane of its preemptor stands beside it. */
const BESIDE = 14;

export function StorylineView({ rounds, current }: { rounds: Round[]; current?: string }) {
  const story = useMemo(() => storyline(rounds), [rounds]);
  const total = story.columns.length;
  const [position, setPosition] = useState<number | null>(null);
  const [isTable, setTable] = useState(false);
  useHotkeys({ t: () => setTable((was) => !was) });
  const shown = clampShown(position ?? total, story);
  const last = story.columns[shown - 1];
  if (last === undefined) return null;
  return (
    <div className={styles.story}>
      <div className={styles.controls}>
        <label className={styles.slider}>
          <span className={styles.soft}>
            Preemption {shown} of {total}
          </span>
          <input
            type="range"
            min={1}
            max={total}
            value={shown}
            aria-label="Shown up to"
            onChange={(event) => setPosition(Number(event.target.value))}
          />
        </label>
        <Button look="quiet" aria-pressed={isTable} aria-keyshortcuts="t" onClick={() => setTable(!isTable)}>
          Table
        </Button>
      </div>
      {/* Above the picture, which may be taller than the window: what the slider stands at is read while it moves. */}
      <p className={styles.caption} aria-live="polite">
        <time className="number">{formatClock(last.round.committedAt)}</time> {sentenceOf(last.round)}{" "}
        <span className={styles.soft}>{outcomeWords(last.round)}</span>
      </p>
      {isTable ? <Rounds columns={story.columns.slice(0, shown)} /> : <Picture story={story} shown={shown} current={current} />}
      {!isTable && <Legend by={story.by} />}
    </div>
  );
}

function Rounds({ columns }: { columns: Column[] }) {
  return (
    <PlainTable label="Preemptions of the picture" heads={["Time", "Preemptor", "Victims", { words: "Result", spare: true }]}>
      {columns.map(({ round }) => (
        <tr key={round.id}>
          <th scope="row" title={formatAbsolute(round.committedAt)}>
            <RouterLink to={roundAddress(round)}>{formatClock(round.committedAt)}</RouterLink>
          </th>
          <td>{round.preemptor}</td>
          <td>{victimWords(round)}</td>
          <td data-spare>{outcomeWords(round)}</td>
        </tr>
      ))}
    </PlainTable>
  );
}

function Legend({ by }: { by: Storyline["by"] }) {
  return (
    <p className={styles.legend}>
      <svg viewBox="0 0 10 10" aria-hidden="true">
        <rect className={styles.preemptor} x={0} y={0} width={10} height={10} />
      </svg>
      Preemptor
      <svg viewBox="0 0 10 10" aria-hidden="true">
        <circle className={styles.victim} cx={5} cy={5} r={4} />
      </svg>
      {by === "queue" ? (
        `Victim, with the number of workloads; each lane is a ClusterQueue, as more than ${MAX_LANES} workloads take part`
      ) : (
        <>
          Victim
          <svg viewBox="0 0 26 10" aria-hidden="true">
            <line className={styles.link} x1={0} x2={26} y1={5} y2={5} />
          </svg>
          Preempted, later preempted others
        </>
      )}
    </p>
  );
}

function Picture({ story, shown, current }: { story: Storyline; shown: number; current?: string }) {
  const frame = useRef<HTMLDivElement>(null);
  const arrow = useId();
  const [room, setRoom] = useState(0);
  useEffect(() => {
    const box = frame.current;
    if (box === null) return;
    const observer = new ResizeObserver(() => setRoom(box.clientWidth));
    observer.observe(box);
    return () => observer.disconnect();
  }, []);
  const axis = useMemo(() => timeAxis(story.columns, { width: room, margin: MARGIN, gap: GAPS[story.by], tick: TICK }), [story, room]);
  const x = (column: number) => axis.places[column] ?? 0;
  useEffect(() => follow(frame.current, axis.places[shown - 1] ?? 0), [axis, shown]);
  const height = story.lanes.length * ROW + AXIS;
  return (
    <div className={styles.picture}>
      <ol className={styles.names} aria-label={story.by === "queue" ? "ClusterQueues" : "Workloads"}>
        {story.lanes.map((lane) => (
          <li key={lane}>{lane === OTHER_QUEUES ? lane : <RouterLink to={laneAddress(story, lane)}><ObjectName name={lane} /></RouterLink>}</li>
        ))}
      </ol>
      <div ref={frame} className={styles.frame} tabIndex={0} role="region" aria-label="Preemptions over time">
        <svg className={styles.drawing} width={axis.width} height={height} viewBox={`0 0 ${axis.width} ${height}`} role="group" aria-label={`${shown} preemptions among ${story.lanes.length} ${story.by}s`}>
          <defs>
            <marker id={arrow} viewBox="0 0 6 6" refX={6} refY={3} markerUnits="userSpaceOnUse" markerWidth={7} markerHeight={7} orient="auto">
              <path className={styles.head} d="M0 0 6 3 0 6z" />
            </marker>
          </defs>
          {story.lanes.map((lane, row) => (
            <line key={lane} className={styles.lane} x1={0} x2={axis.width} y1={y(row)} y2={y(row)} />
          ))}
          <Times story={story} axis={axis} y={height - AXIS / 2} />
          {story.links
            .filter((link) => link.to < shown)
            .map((link) => (
              <line key={`${link.row}-${link.to}`} className={styles.link} x1={x(link.from)} x2={x(link.to)} y1={y(link.row)} y2={y(link.row)} />
            ))}
          {story.columns.slice(0, shown).map((column, index) => (
            <Mark key={column.round.id} column={column} at={x(index)} arrow={arrow} emphasis={index === shown - 1 || column.round.id === current} />
          ))}
        </svg>
      </div>
    </div>
  );
}

/** The time of day below the lanes, of as many rounds as there is room for. */
function Times({ story, axis, y: at }: { story: Storyline; axis: TimeAxis; y: number }) {
  return (
    <g className={styles.times}>
      {axis.ticks.map((index) => (
        <text key={index} x={axis.places[index]} y={at} textAnchor="middle" dominantBaseline="middle">
          {formatClock(story.columns[index]?.round.committedAt ?? "")}
        </text>
      ))}
    </g>
  );
}

/** Moves what is newest into sight, and never the page. */
function follow(frame: HTMLDivElement | null, at: number): void {
  if (frame === null) return;
  const room = frame.clientWidth;
  if (at < frame.scrollLeft + MARGIN || at > frame.scrollLeft + room - MARGIN) frame.scrollLeft = at - room / 2;
}

function Mark({ column, at, arrow, emphasis }: { column: Column; at: number; arrow: string; emphasis: boolean }) {
  const { history } = useRouter();
  const address = roundAddress(column.round);
  const top = y(column.preemptorRow);
  const open = (event: MouseEvent) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    history.push(address);
  };
  return (
    <a href={address} onClick={open} aria-label={sentenceOf(column.round)} className={emphasis ? styles.now : styles.past}>
      <title>{sentenceOf(column.round)}</title>
      {column.victims.map(({ row, count }) => {
        const isBeside = row === column.preemptorRow;
        const [cx, cy] = [isBeside ? at + BESIDE : at, y(row)];
        const end = cy > top ? cy - DOT : cy + DOT;
        return (
          <g key={row}>
            <line className={styles.fall} markerEnd={`url(#${arrow})`} x1={at} x2={isBeside ? cx - DOT : cx} y1={top} y2={isBeside ? cy : end} />
            <circle className={styles.victim} cx={cx} cy={cy} r={DOT} />
            {count > 1 && (
              <text className={styles.number} x={cx + DOT + 2} y={cy} dominantBaseline="middle">
                {count}
              </text>
            )}
          </g>
        );
      })}
      <rect className={styles.preemptor} x={at - DOT} y={top - DOT} width={2 * DOT} height={2 * DOT} />
    </a>
  );
}

function roundAddress({ id }: Round): string {
  return `/preemptions/${encodeURIComponent(id)}`;
}

function laneAddress({ by }: Storyline, lane: string): string {
  return by === "queue" ? `/queues/${encodeURIComponent(lane)}` : workloadAddress(lane);
}

function y(row: number): number {
  return row * ROW + ROW / 2;
}
