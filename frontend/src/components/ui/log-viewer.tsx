// Lines of logs: only those in sight are in the document, colors are kept, and the end is followed until one scrolls up.
import { useVirtualizer } from "@tanstack/react-virtual";
import { type CSSProperties, type ReactNode, useEffect, useRef } from "react";

import { formatClock } from "@/lib/format/times";
import { type LogSpan, spansOf } from "@/lib/logs/ansi";
import type { LogLine } from "@/lib/logs/log-buffer";

import styles from "./log-viewer.module.css";

export interface LogViewerProps {
  label: string;
  lines: readonly LogLine[];
  isFollowing: boolean;
  /** The end was left by scrolling up, or reached again. */
  onFollow: (isFollowing: boolean) => void;
  wraps: boolean;
  withTimes: boolean;
  withColors: boolean;
  /** Whether lines are of several pods. */
  withRanks: boolean;
  search: string;
  /** The places of lines that are found, and which of them is the current one. */
  matches: readonly number[];
  current: number | undefined;
}

const LINE_PIXELS = 18;
const END_PIXELS = 24;
const INTENT_MILLISECONDS = 600;
const RANK_COLORS = 6;

/** The window of lines in sight, and what tells scrolling by a person from scrolling to the end. */
function useScroll({ lines, isFollowing, onFollow, wraps, current }: LogViewerProps) {
  const frame = useRef<HTMLDivElement>(null);
  const touchedAt = useRef(0);
  const virtual = useVirtualizer({
    count: lines.length,
    getScrollElement: () => frame.current,
    estimateSize: () => LINE_PIXELS,
    getItemKey: (index) => lines[index]?.key ?? index,
    overscan: 30,
  });
  useEffect(() => virtual.measure(), [virtual, wraps]);
  useEffect(() => {
    if (isFollowing && lines.length > 0) virtual.scrollToIndex(lines.length - 1, { align: "end" });
  });
  useEffect(() => {
    if (current !== undefined) virtual.scrollToIndex(current, { align: "center" });
  }, [virtual, current]);
  const touch = () => (touchedAt.current = Date.now());
  const onScroll = () => {
    const element = frame.current;
    // Scrolling that follows new lines, or a search, says nothing about what a person wants.
    if (element === null || Date.now() - touchedAt.current > INTENT_MILLISECONDS) return;
    const isAtEnd = element.scrollHeight - element.scrollTop - element.clientHeight < END_PIXELS;
    if (isAtEnd !== isFollowing) onFollow(isAtEnd);
  };
  return { frame, virtual, touch, onScroll };
}

export function LogViewer(props: LogViewerProps) {
  const { label, lines, wraps, matches, current } = props;
  const { frame, virtual, touch, onScroll } = useScroll(props);
  const found = new Set(matches);
  return (
    <div
      ref={frame}
      className={`${styles.frame ?? ""} ${wraps ? (styles.wrapped ?? "") : ""}`}
      role="log"
      aria-live="off"
      aria-label={label}
      tabIndex={0}
      onScroll={onScroll}
      onWheel={touch}
      onTouchMove={touch}
      onPointerDown={touch}
      onKeyDown={touch}
    >
      <div className={styles.body} style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map(({ key, index, start }) => {
          const line = lines[index];
          const match = index === current ? "current" : found.has(index) ? "some" : undefined;
          return (
            line && (
              <div
                key={key}
                ref={virtual.measureElement}
                data-index={index}
                data-match={match}
                className={styles.line}
                style={{ ...lineColor(line, props.withRanks), transform: `translateY(${start}px)` }}
              >
                <Line line={line} {...props} />
              </div>
            )
          );
        })}
      </div>
    </div>
  );
}

function lineColor({ rank, kind }: LogLine, withRanks: boolean): CSSProperties {
  return withRanks && kind === "output" ? { borderLeftColor: `var(--rank-${(rank % RANK_COLORS) + 1})` } : {};
}

function Line({ line, withTimes, withColors, withRanks, search }: LogViewerProps & { line: LogLine }) {
  if (line.kind !== "output") return <span className={styles[line.kind]}>— {line.text} —</span>;
  const spans: LogSpan[] = withColors ? spansOf(line.shown) : [{ text: line.text, decorations: [] }];
  return (
    <>
      {withTimes && <span className={styles.time}>{formatClock(line.at)}</span>}
      {withRanks && <span className={styles.rank}>{line.rank}</span>}
      <span className={styles.text}>
        {spans.map((span, index) => (
          <span key={index} className={classesOf(span)} style={colorsOf(span)}>
            {marked(span.text, search)}
          </span>
        ))}
      </span>
    </>
  );
}

function classesOf({ decorations }: LogSpan): string | undefined {
  return decorations.map((name) => styles[name]).filter(Boolean).join(" ") || undefined;
}

function colorsOf({ color, background, rgb }: LogSpan): CSSProperties {
  return {
    color: color ? `var(--ansi-${color})` : rgb && `rgb(${rgb})`,
    background: background && `var(--ansi-${background}-back)`,
  };
}

/** The text with what is searched for marked. */
function marked(text: string, search: string): ReactNode {
  if (search === "") return text;
  const lower = text.toLowerCase();
  const wanted = search.toLowerCase();
  const parts: ReactNode[] = [];
  let from = 0;
  for (let at = lower.indexOf(wanted); at >= 0; at = lower.indexOf(wanted, from)) {
    parts.push(text.slice(from, at), <mark key={at}>{text.slice(at, at + wanted.length)}</mark>);
    from = at + wanted.length;
  }
  return [...parts, text.slice(from)];
}
