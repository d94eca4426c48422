// What the slider marks: the latest decisions, and changes of configuration, in the present's own log.
import { queryOptions } from "@tanstack/react-query";

import { api, contentOf } from "@/lib/api/request";
import type { Cycle, Revision } from "@/lib/api/types";
import { changesAddress } from "@/lib/events";

const MAX_MARKS = 200;
const NOW = "now";

export interface Mark {
  kind: "decision" | "configuration";
  position: number;
  words: string;
  address: string;
}

/** The head of the log and the marks on it, the latest first. */
export function marksQuery() {
  return queryOptions({
    queryKey: ["cycles", "marks"],
    queryFn: async ({ signal }) => {
      const query = { at: NOW, limit: MAX_MARKS };
      const [cycles, revisions] = await Promise.all([
        contentOf(api.GET("/v1/cycles", { params: { query }, signal })),
        contentOf(api.GET("/v1/history", { params: { query }, signal })),
      ]);
      return { head: Math.max(cycles.position, revisions.position), marks: marksOf(cycles.items, revisions.items) };
    },
  });
}

/** The position and instant of a moment, as the server understands it. */
export function momentQuery(moment: string) {
  return queryOptions({
    queryKey: ["events", "moment", moment],
    queryFn: async ({ signal }) => {
      const page = await contentOf(api.GET("/v1/events", { params: { query: { at: moment, limit: 1 } }, signal }));
      return { position: page.items[0]?.position ?? 0, at: page.items[0]?.at };
    },
    enabled: moment !== "",
  });
}

/** Decisions and changes of configuration together, the latest first. */
export function marksOf(cycles: Cycle[], revisions: Revision[]): Mark[] {
  const decisions = cycles
    .filter((cycle) => cycle.outcome === "Committed")
    .map((cycle): Mark => ({
      kind: "decision",
      position: cycle.lastPosition,
      words: `${cycle.decisions} ${cycle.decisions === 1 ? "decision" : "decisions"} in ${cycle.partition}`,
      address: `/cycles/${encodeURIComponent(cycle.id)}`,
    }));
  const changes = revisions.map((revision): Mark => ({
    kind: "configuration",
    position: revision.position,
    words: `${revision.kind} ${revision.name} changed by ${revision.actor.replace(/^user:/, "")}`,
    address: changesAddress(revision.stream),
  }));
  return [...decisions, ...changes].sort((one, other) => other.position - one.position);
}

/** The nearest mark before a position, if there is one. */
export function markBefore(marks: Mark[], position: number): Mark | undefined {
  return marks.find((mark) => mark.position < position);
}

/** The nearest mark after a position, if there is one. */
export function markAfter(marks: Mark[], position: number): Mark | undefined {
  return marks.findLast((mark) => mark.position > position);
}

/** The fraction of the slider at a position. */
export function shareOf(position: number, head: number): string {
  return `${head > 0 ? (100 * position) / head : 0}%`;
}
