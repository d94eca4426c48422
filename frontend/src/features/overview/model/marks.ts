// Marks on charts: changes of configuration and outages; many at nearly the same time are one mark.
import type { Fact, Revision } from "@/lib/api/types";
import { changesAddress } from "@/lib/events";

export interface Mark {
  /** Seconds since 1970. */
  at: number;
  words: string;
  address: string;
  kind: "change" | "outage";
}

const NEAR_SECONDS = 60;
const OUTAGE_WORDS: Record<string, string> = {
  "node.fell_silent": "not ready",
  "node.executor_lost": "without its executor",
  "executor.lost": "disconnected",
};

/** Both kinds, the latest first; those of one kind within a minute stand together. */
export function marksOf(revisions: Revision[], outages: Fact[]): Mark[] {
  const changes = revisions.map(({ at, kind, name, actor, stream }): Mark => ({
    at: Date.parse(at) / 1000,
    words: `${kind} ${name} changed by ${actor.replace(/^user:/, "")}`,
    address: changesAddress(stream),
    kind: "change",
  }));
  const lost = outages.map(({ at, type, stream }): Mark => ({
    at: Date.parse(at) / 1000,
    words: `${stream.replace("/", " ")} ${OUTAGE_WORDS[type] ?? "lost"}`,
    address: `/events?stream=${encodeURIComponent(stream)}`,
    kind: "outage",
  }));
  return [...gathered(changes, "/configuration?view=changes"), ...gathered(lost, "/events?type=node.fell_silent,executor.lost")].sort((one, other) => other.at - one.at);
}

function gathered(marks: Mark[], address: string): Mark[] {
  const found: Mark[] = [];
  let count = 1;
  for (const mark of [...marks].sort((one, other) => one.at - other.at)) {
    const last = found.at(-1);
    if (last === undefined || mark.at - last.at > NEAR_SECONDS) {
      found.push({ ...mark });
      count = 1;
    } else {
      count += 1;
      last.words = `${count} ${last.kind === "change" ? "changes" : "outages"}, the last: ${mark.words}`;
      last.address = address;
    }
  }
  return found;
}
