// What is free for a workload that is not submitted yet: in its queue, and in one domain of the topology.
import type { QueueSummary, TopologyFits } from "@/lib/api/types";
import { formatAmount, shortResource } from "@/lib/format/amounts";
import { levelWords } from "@/lib/format/levels";

/** What is free of a ClusterQueue's nominal quota: what neither it uses nor others borrow. */
export function freeWords(summary: QueueSummary | undefined, queue: string | undefined): string {
  const row = summary?.queues.find(({ clusterQueue }) => clusterQueue === queue);
  if (summary === undefined || row === undefined) return "";
  const { resource } = summary;
  if (row.nominal === 0) return `No ${shortResource(resource)} quota of its own`;
  const free = Math.max(0, row.nominal - row.used - row.lent);
  return `${formatAmount(resource, free, row.nominal)} of ${formatAmount(resource, row.nominal)} ${shortResource(resource)} free`;
}

/** Of a Topology its name, and its levels from the widest. */
export interface Topology {
  metadata: { name: string };
  spec: { levels: { nodeLabel: string }[] };
}

export interface GangPlace {
  topology: string;
  level: string;
}

/** Where a gang is looked for: in domains of the level it requires, else of the one above hosts. */
export function gangPlace(topologies: Topology[], required: string): GangPlace | null {
  for (const { metadata, spec } of topologies) {
    const levels = spec.levels.map(({ nodeLabel }) => nodeLabel);
    const level = required === "" ? (levels.at(-2) ?? levels.at(-1)) : levels.find((name) => name === required);
    if (level !== undefined) return { topology: metadata.name, level };
  }
  return null;
}

/** The largest gang in one domain of a level, of whatever flavor. */
export function largestGang(fits: TopologyFits | undefined, place: GangPlace | null): { term: string; words: string } {
  const sizes = (fits?.fits ?? []).filter(({ level }) => level === place?.level).map(({ largest }) => largest);
  const term = `Largest gang in a ${place === null ? "domain" : levelWords(place.level)}`;
  if (sizes.length === 0) return { term, words: "" };
  const pods = Math.max(...sizes);
  return { term, words: pods === 1 ? "1 pod" : `${pods} pods` };
}
