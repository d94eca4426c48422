// The attempts of a workload: how long each was in which phase, and how it ended.
import type { Explanation, TimelineEntry } from "@/lib/api/types";

import { type PhaseSpan, type PhaseTimeline, phaseSpansOf } from "./phase-timeline";
import { failureWords } from "./pods";

export interface Attempt {
  /** From 1; the last one may not have a place yet. */
  number: number;
  spans: PhaseSpan[];
  /** How it ended; empty while it has not. */
  end: string;
}

const ENDINGS = new Set(["workload.evicted", "workload.finished", "workload.deleted"]);
const RESERVED = "workload.quota_reserved";
const DROPPED = "workload.reservation_dropped";
const GIVES_UP = new Set(["workload.stopped", DROPPED]);

/** The attempts, the newest first; each begins where the workload gave up the place of the one before. */
export function attemptsOf({ entries, earlier }: PhaseTimeline, failed: Explanation["failedPods"], latest: number, now: string): Attempt[] {
  const parts = partsOf(entries);
  // Where earlier events are not known, the server's number of the last attempt tells those of the others.
  const isPlaced = parts.at(-1)?.some(({ type }) => type === RESERVED) ?? false;
  const last = earlier > 0 && latest > 0 ? latest + (isPlaced ? 0 : 1) : parts.length;
  return parts
    .map((part, index) => {
      const number = last - (parts.length - 1 - index);
      const next = parts[index + 1]?.[0];
      const pod = failed?.find(({ attempt }) => attempt === number);
      const ending = part.findLast(({ type }) => ENDINGS.has(type)) ?? (next?.type === DROPPED ? next : undefined);
      return { number, spans: phaseSpansOf(part, next?.at ?? now), end: pod === undefined ? (ending?.title ?? "") : failureWords(pod) };
    })
    .filter(({ spans }) => spans.length > 0)
    .reverse();
}

/** The entries of each attempt, oldest first. */
function partsOf(entries: TimelineEntry[]): TimelineEntry[][] {
  const parts: TimelineEntry[][] = [[]];
  let isPlaced = false;
  let isInactive = false;
  for (const entry of entries) {
    if (entry.type === "workload.deactivated") isInactive = true;
    if (entry.type === "workload.activated") isInactive = false;
    if (entry.type === RESERVED) isPlaced = true;
    if (isPlaced && GIVES_UP.has(entry.type)) {
      isPlaced = false;
      // What was deactivated meanwhile is not pending again.
      parts.push([isInactive ? { ...entry, type: "workload.deactivated" } : entry]);
    } else parts.at(-1)?.push(entry);
  }
  return parts.filter((part) => part.length > 0);
}
