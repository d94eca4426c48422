// Rounds in order of time: a column each, from preemptor to victims.
import { useRouter } from "@tanstack/react-router";
import { type MouseEvent, useEffect, useMemo, useRef, useState } from "react";

import { RouterLink } from "@/components/ui/router-link";
import type { Round } from "@/lib/api/types";
import { workloadAddress } from "@/lib/events";
import { useTargetPixels } from "@/lib/density";
import { formatClock } from "@/lib/format/times";

import { outcomeWords } from "../model/rounds";
import { clampShown, type Column, sentenceOf, type Storyline, storyline } from "../model/storyline";
import styles from "./storyline-view.module.css";

const COLUMN = 44;
const DOT = 5;
const MARGIN = 22;
const FEWEST_COLUMNS = 18;

export function StorylineView({ rounds, current }: { rounds: Round[]; current?: string }) {
  const story = useMemo(() => storyline(rounds), [rounds]);
  const total = story.columns.length;
  const [position, setPosition] = useState<number | null>(null);
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
      </div>
      {/* Above the picture, which may be taller than the window: what the slider stands at is read while it moves. */}
      <p className={styles.caption} aria-live="polite">
        <time className="number">{formatClock(last.round.committedAt)}</time> {sentenceOf(last.round)}{" "}
        <span className={styles.soft}>{outcomeWords(last.round)}</span>
      </p>
      <Picture story={story} shown={shown} current={current} />
      <Legend />
    </div>
  );
}

function Legend() {
  return (
    <p className={styles.legend}>
      <svg viewBox="0 0 10 10" aria-hidden="true">
        <rect className={styles.preemptor} x={0} y={0} width={10} height={10} />
      </svg>
      Preemptor
      <svg viewBox="0 0 10 10" aria-hidden="true">
        <circle className={styles.victim} cx={5} cy={5} r={4} />
      </svg>
      Victim
      <svg viewBox="0 0 26 10" aria-hidden="true">
        <line className={styles.link} x1={0} x2={26} y1={5} y2={5} />
      </svg>
      Preempted, later preempted others
    </p>
  );
}

function Picture({ story, shown, current }: { story: Storyline; shown: number; current?: string }) {
  const frame = useRef<HTMLDivElement>(null);
  const lane = useTargetPixels();
  const y = (row: number) => row * lane + lane / 2;
  useEffect(() => follow(frame.current, story.columns[shown - 1], shown - 1, lane), [story, shown, lane]);
  const height = story.workloads.length * lane;
  const width = Math.max(story.columns.length, FEWEST_COLUMNS) * COLUMN;
  return (
    <div ref={frame} className={styles.picture} tabIndex={0} role="region" aria-label="Preemptions over time">
      <ol className={styles.names}>
        {story.workloads.map((workload) => (
          <li key={workload} title={workload}>
            <RouterLink to={workloadAddress(workload)}>{workload}</RouterLink>
          </li>
        ))}
      </ol>
      <svg className={styles.drawing} width={width} height={height} viewBox={`0 0 ${width} ${height}`} role="group" aria-label={`${shown} preemptions among ${story.workloads.length} workloads`}>
        {story.workloads.map((workload, row) => (
          <line key={workload} className={styles.lane} x1={0} x2={width} y1={y(row)} y2={y(row)} />
        ))}
        {story.links
          .filter((link) => link.to < shown)
          .map((link) => (
            <line key={`${link.row}-${link.to}`} className={styles.link} x1={x(link.from)} x2={x(link.to)} y1={y(link.row)} y2={y(link.row)} />
          ))}
        {story.columns.slice(0, shown).map((column, index) => (
          <Fall key={column.round.id} column={column} index={index} lane={lane} emphasis={index === shown - 1 || column.round.id === current} />
        ))}
      </svg>
    </div>
  );
}

/** Moves what is newest into the middle of the frame, and never the page. */
function follow(frame: HTMLDivElement | null, column: Column | undefined, index: number, lane: number): void {
  if (frame === null || column === undefined) return;
  const names = frame.firstElementChild?.clientWidth ?? 0;
  const top = column.top * lane + lane / 2 - DOT;
  const bottom = column.bottom * lane + lane / 2 + DOT;
  if (top < frame.scrollTop || bottom > frame.scrollTop + frame.clientHeight) frame.scrollTop = (top + bottom - frame.clientHeight) / 2;
  const room = frame.clientWidth - names;
  if (x(index) < frame.scrollLeft + COLUMN || x(index) > frame.scrollLeft + room - COLUMN) frame.scrollLeft = x(index) - room / 2;
}

function Fall({ column, index, lane, emphasis }: { column: Column; index: number; lane: number; emphasis: boolean }) {
  const { history } = useRouter();
  const y = (row: number) => row * lane + lane / 2;
  const at = x(index);
  const address = `/preemptions/${encodeURIComponent(column.round.id)}`;
  const open = (event: MouseEvent) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    history.push(address);
  };
  return (
    <a href={address} onClick={open} aria-label={sentenceOf(column.round)} className={emphasis ? styles.now : styles.past}>
      <title>{sentenceOf(column.round)}</title>
      <rect className={styles.target} x={at - COLUMN / 2} y={column.top * lane} width={COLUMN} height={(column.bottom - column.top + 1) * lane} />
      <line className={styles.fall} x1={at} x2={at} y1={y(column.top)} y2={y(column.bottom)} />
      {column.victimRows.map((row) => (
        <circle key={row} className={styles.victim} cx={at} cy={y(row)} r={DOT} />
      ))}
      <rect className={styles.preemptor} x={at - DOT} y={y(column.preemptorRow) - DOT} width={2 * DOT} height={2 * DOT} />
    </a>
  );
}

function x(column: number): number {
  return column * COLUMN + MARGIN;
}
