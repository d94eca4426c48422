// The phases of a workload over time, with long idle ones folded so that all are visible at once.
import type { Tone } from "@/components/ui/badge";
import type { TimelineEntry, TimelinePage } from "@/lib/api/types";
import { secondsBetween } from "@/lib/format/times";

/** The known timeline: its entries, oldest first, and how many happened before them. */
export interface PhaseTimeline {
  entries: TimelineEntry[];
  earlier: number;
}

/** The timeline of several pages; the first has the newest entries, and each is newest first. */
export function phaseTimelineOf(pages: TimelinePage[]): PhaseTimeline {
  return { entries: pages.flatMap((page) => page.entries).reverse(), earlier: pages.at(-1)?.earlier ?? 0 };
}

export interface PhaseSpan {
  tone: Tone;
  words: string;
  from: string;
  seconds: number;
  /** Its share of the drawn width, after folding; all shares add up to 1. */
  share: number;
  /** Long idle time beside other phases is drawn much shorter than it was. */
  isFolded: boolean;
}

const PENDING: [Tone, string] = ["wait", "Pending"];
const INACTIVE: [Tone, string] = ["idle", "Inactive"];
const AFTER: Record<string, [Tone, string]> = {
  "workload.submitted": ["wait", "Pending"],
  "workload.placement_nominated": ["move", "Capacity nominated"],
  "workload.nomination_withdrawn": ["wait", "Pending"],
  "workload.quota_reserved": ["move", "Quota reserved"],
  "workload.admitted": ["run", "Starting"],
  "workload.pods_ready": ["run", "Running"],
  "workload.pods_not_ready": ["bad", "Pods not ready"],
  "workload.evicted": ["bad", "Stopping"],
  "workload.stopped": ["wait", "Pending"],
  "workload.reservation_dropped": ["wait", "Pending"],
  "workload.requeued": ["wait", "Pending"],
  "workload.held": ["hold", "On hold"],
  "workload.released": ["wait", "Pending"],
  "workload.deactivated": INACTIVE,
  "workload.activated": ["wait", "Pending"],
};
const REASON = "workload.explained";
const ENDS = new Set(["workload.finished", "workload.deleted"]);
const OF_THE_LINE = new Set(["workload.held", "workload.released", "workload.requeued"]);
const WITH_PLACE: readonly Tone[] = ["run", "move", "bad"];

/** The phase spans from submission, or the first known phase, to the end, or to `now` while unfinished. */
export function phaseSpansOf(entries: TimelineEntry[], now: string): PhaseSpan[] {
  const raw: RawSpan[] = [];
  let current: { tone: Tone; words: string; from: string } | null = null;
  const close = (at: string) => {
    if (current !== null) raw.push({ ...current, seconds: Math.max(0, secondsBetween(current.from, at)) });
    current = null;
  };
  let isInactive = false;
  for (const entry of entries) {
    if (entry.type === "workload.deactivated") isInactive = true;
    if (entry.type === "workload.activated") isInactive = false;
    if (ENDS.has(entry.type)) {
      close(entry.at);
      continue;
    }
    // Only pending workloads are given reasons, so that a reason tells the phase where earlier entries are not known.
    const told: [Tone, string] | undefined = AFTER[entry.type] ?? (isReason(entry) && current === null ? PENDING : undefined);
    if (told === undefined) continue;
    // A deactivated workload that gave up its place is not pending.
    const after: [Tone, string] = isInactive && told[1] === PENDING[1] ? INACTIVE : told;
    const before: Tone | undefined = (current as { tone: Tone } | null)?.tone;
    // A hold on what has a place changes nothing until the place is given up.
    if (OF_THE_LINE.has(entry.type) && before !== undefined && WITH_PLACE.includes(before)) continue;
    if ((current as { words: string } | null)?.words === after[1]) continue;
    close(entry.at);
    current = { tone: after[0], words: after[1], from: entry.at };
  }
  close(now);
  return folded(raw);
}

type RawSpan = Omit<PhaseSpan, "share" | "isFolded">;

const IDLE: readonly Tone[] = ["wait", "idle", "hold"];
const FOLDED_SECONDS = 3600;
/** The most that a folded span is drawn with, as a part of all that are not. */
const FOLDED_SHARE = 0.25;
/** A span that is spread leaves at least the rest of the width to the others. */
const MAX_SPREAD = 4;

function folded(spans: RawSpan[]): PhaseSpan[] {
  const isFolded = (span: RawSpan) => spans.length > 1 && IDLE.includes(span.tone) && span.seconds >= FOLDED_SECONDS;
  const rest = sumOf(spans.filter((span) => !isFolded(span)).map(weightOf));
  const weights = spans.map((span) => (isFolded(span) && rest > 0 ? Math.min(weightOf(span), rest * FOLDED_SHARE) : weightOf(span)));
  const total = sumOf(weights);
  return spans.map((span, index) => ({ ...span, share: (weights[index] ?? 0) / total, isFolded: isFolded(span) }));
}

function weightOf({ seconds }: RawSpan): number {
  return 1 + Math.log2(1 + seconds);
}

/** The key of a span among those of an attempt. */
export function spanKey({ from, words }: PhaseSpan): string {
  return from + words;
}

/** The spans with the chosen ones as long as they were beside the others, as far as these keep a fifth of the width. */
export function spread(spans: readonly PhaseSpan[], chosen: ReadonlySet<string>): PhaseSpan[] {
  const others = spans.filter((span) => !chosen.has(spanKey(span)));
  if (others.length === spans.length) return [...spans];
  const rest = sumOf(others.map(({ share }) => share));
  const seconds = sumOf(others.map((span) => span.seconds));
  const wanted = spans.map((span) => (chosen.has(spanKey(span)) ? Math.max(span.share, seconds > 0 ? (span.seconds * rest) / seconds : 1) : 0));
  const all = sumOf(wanted);
  const scale = rest > 0 ? Math.min(1, (MAX_SPREAD * rest) / all) : 1;
  const total = rest + all * scale;
  return spans.map((span, index) => (chosen.has(spanKey(span)) ? { ...span, share: ((wanted[index] ?? 0) * scale) / total, isFolded: false } : { ...span, share: span.share / total }));
}

function sumOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0);
}

export interface Mark {
  entry: TimelineEntry;
  /** Idle seconds since the mark before, where they are long enough to be worth a word. */
  idleSeconds: number;
}

const WORTH_A_WORD_SECONDS = 30;

/** Whether an event, known by its position, lies before all entries that are there. */
export function isEarlier({ entries }: PhaseTimeline, position: string): boolean {
  const oldest = entries[0];
  return oldest !== undefined && position !== "" && Number(position) < oldest.position;
}

/** The entries with the folded time between them, newest first. */
export function marksOf(entries: TimelineEntry[]): Mark[] {
  return entries
    .map((entry, index) => {
      const before = entries[index - 1];
      const idle = before === undefined ? 0 : secondsBetween(before.at, entry.at);
      return { entry, idleSeconds: idle >= WORTH_A_WORD_SECONDS ? idle : 0 };
    })
    .reverse();
}

/** Whether an entry is a pending reason. */
export function isReason(entry: TimelineEntry): boolean {
  return entry.type === REASON;
}

/** Marks that are shown together: the newest, and earlier ones of its kind. */
export type MarkGroup = [Mark, ...Mark[]];

/** The marks with consecutive reasons folded under the newest, so that other events stay visible. */
export function foldReasons(marks: Mark[]): MarkGroup[] {
  const groups: MarkGroup[] = [];
  for (const mark of marks) {
    const newer = groups.at(-1);
    if (newer !== undefined && isReason(mark.entry) && isReason(newer[0].entry)) newer.push(mark);
    else groups.push([mark]);
  }
  return groups;
}
