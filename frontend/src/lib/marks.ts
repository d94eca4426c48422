// Marks on charts over time: changes of configuration, stops and outages in words.
import type { MarkList } from "@/lib/api/types";

import { addressOfStream, changesAddress } from "./events";

export interface ChartMark {
  /** Seconds since 1970. */
  at: number;
  words: string;
  address: string;
  kind: "change" | "stop" | "outage" | "preemption" | "conflict";
}

type Mark = MarkList["items"][number];

const KINDS = { Change: "change", Stop: "stop", Outage: "outage" } as const;
const NOUNS: Record<Mark["kind"], string> = { Change: "changes", Stop: "stops and resumes", Outage: "outages" };
const DONE: Record<string, string> = {
  "executor.lost": "disconnected",
  "node.executor_lost": "without its executor",
  "node.fell_silent": "not ready",
  "node.drain_started": "drained",
};

/** The marks of a time range as a chart shows them. */
export function chartMarks({ items }: Pick<MarkList, "items">): ChartMark[] {
  return items.map((mark) => ({ at: Date.parse(mark.at) / 1000, words: wordsOf(mark), address: addressOf(mark), kind: KINDS[mark.kind] }));
}

/** The event with its actor and its reason: "ClusterQueue vision stopped by ana: budget review". */
function wordsOf({ kind, count, objectKind, name, type, actor, reason }: Mark): string {
  const done = DONE[type] ?? type.slice(type.indexOf(".") + 1).replaceAll("_", " ");
  const person = kind === "Outage" ? "" : ` by ${actor.replace(/^user:/, "")}`;
  const last = `${objectKind} ${name} ${done}${person}${reason ? `: ${reason}` : ""}`;
  return count === 1 ? last : `${count} ${NOUNS[kind]}, the last: ${last}`;
}

/** One change leads to those of its object, everything else to its events. */
function addressOf({ kind, count, stream, type, firstAt, at }: Mark): string {
  if (kind === "Change") return count === 1 ? changesAddress(stream) : "/configuration?view=changes";
  const until = new Date(Date.parse(at) + 1000).toISOString();
  if (count > 1) return `/events?type=${TYPES[kind]}&from=${encodeURIComponent(firstAt)}&to=${encodeURIComponent(until)}`;
  return type.startsWith("cluster_queue") ? addressOfStream(stream) : `/events?stream=${encodeURIComponent(stream)}`;
}

const TYPES = {
  Stop: "cluster_queue.stopped,cluster_queue.resumed,local_queue.stopped,local_queue.resumed,node.cordoned,node.drain_started,node.uncordoned",
  Outage: "node.fell_silent,node.executor_lost,executor.lost",
};
