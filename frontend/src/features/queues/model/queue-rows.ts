// The tree of queues as rows for one resource: quota and use, demand, waits, and the course of use.
import type { CapacityPoint, QueueNode, QueueRow, QuotaLine } from "@/lib/api/types";
import { byResource } from "@/lib/format/amounts";

export interface QueueTreeRow {
  node: QueueNode;
  depth: number;
  /** Of the chosen resource and flavor; undefined without any quota of it. */
  line: QuotaLine | undefined;
  /** What pending workloads request, and how many they are. */
  pending: number;
  pendingWorkloads: number;
  /** Undefined of cohorts; null without a start in the last day. */
  waitP95Seconds: number | null | undefined;
  trend: number[];
}

/** What rows are made of: the choice of the user, and what is known of each ClusterQueue. */
export interface RowSources {
  resource: string;
  /** Empty for all flavors. */
  flavor: string;
  queues: ReadonlyMap<string, QueueRow>;
  points: readonly CapacityPoint[];
}

/** Every resource that any node has quota of, GPUs first. */
export function resourcesOf(roots: readonly QueueNode[]): string[] {
  return namesOf(roots, ({ resource }) => resource).sort(byResource);
}

/** Every flavor with quota of a resource, by name. */
export function flavorsOf(roots: readonly QueueNode[], resource: string): string[] {
  return namesOf(roots, (line) => (line.resource === resource ? line.flavor : "")).sort();
}

function namesOf(roots: readonly QueueNode[], nameOf: (line: QuotaLine) => string): string[] {
  const found = new Set<string>();
  const visit = (node: QueueNode) => {
    for (const line of node.lines) found.add(nameOf(line));
    node.children.forEach(visit);
  };
  roots.forEach(visit);
  found.delete("");
  return [...found];
}

/** The names of all cohorts. */
export function cohortsOf(roots: readonly QueueNode[]): string[] {
  return roots.flatMap((node) => (node.kind === "Cohort" ? [node.name, ...cohortsOf(node.children)] : []));
}

/** The rows, parents first; what is below a closed cohort is left out, as are subtrees without the text in a name. */
export function treeRows(roots: readonly QueueNode[], sources: RowSources, closed: ReadonlySet<string>, text: string): QueueTreeRow[] {
  const words = text.trim().toLowerCase();
  const has = (node: QueueNode): boolean => node.name.toLowerCase().includes(words) || node.children.some(has);
  const rowsOf = (node: QueueNode, depth: number): QueueTreeRow[] => {
    if (!has(node)) return [];
    const below = closed.has(node.name) && node.kind === "Cohort" ? [] : node.children.flatMap((child) => rowsOf(child, depth + 1));
    return [rowOf(node, depth, sources), ...below];
  };
  return roots.flatMap((root) => rowsOf(root, 0));
}

export type QueueOrder = "used" | "pending" | "wait" | "name";

/** The ClusterQueues alone in an order, with "-" before it where the largest come first. */
export function orderedRows(rows: readonly QueueTreeRow[], order: string): QueueTreeRow[] {
  const sign = order.startsWith("-") ? -1 : 1;
  const by = order.replace("-", "") as QueueOrder;
  const value = ({ line, pending, waitP95Seconds }: QueueTreeRow) => (by === "used" ? (line?.used ?? 0) : by === "pending" ? pending : (waitP95Seconds ?? -1));
  return rows
    .filter(({ node }) => node.kind === "ClusterQueue")
    .map((row) => ({ ...row, depth: 0 }))
    .sort((one, other) => (by === "name" ? 0 : sign * (value(one) - value(other))) || (by === "name" ? sign : 1) * one.node.name.localeCompare(other.node.name));
}

function rowOf(node: QueueNode, depth: number, sources: RowSources): QueueTreeRow {
  const queues = queuesBelow(node);
  const known = queues.map((name) => sources.queues.get(name)).filter((row) => row !== undefined);
  return {
    node,
    depth,
    line: lineOf(node, sources),
    pending: known.reduce((sum, { pending }) => sum + pending, 0),
    pendingWorkloads: known.reduce((sum, { pendingWorkloads }) => sum + pendingWorkloads, 0),
    waitP95Seconds: node.kind === "ClusterQueue" ? (known[0]?.waitP95Seconds ?? null) : undefined,
    trend: sources.points.map((point) => point.queues.reduce((sum, queue) => sum + (queues.includes(queue.clusterQueue) ? queue.used : 0), 0)),
  };
}

function queuesBelow(node: QueueNode): string[] {
  return node.kind === "ClusterQueue" ? [node.name] : node.children.flatMap(queuesBelow);
}

/** One line of all flavors together; that of a cohort has the quota and the use of all below it. */
function lineOf(node: QueueNode, { resource, flavor }: Pick<RowSources, "resource" | "flavor">): QuotaLine | undefined {
  const lines = node.lines.filter((line) => line.resource === resource && (flavor === "" || line.flavor === flavor));
  return lines.length === 0 ? undefined : lines.reduce(added);
}

function added(one: QuotaLine, other: QuotaLine): QuotaLine {
  return {
    flavor: one.flavor,
    resource: one.resource,
    nominal: one.nominal + other.nominal,
    used: one.used + other.used,
    borrowed: one.borrowed + other.borrowed,
    lent: one.lent + other.lent,
    available: one.available + other.available,
    overcommitted: (one.overcommitted ?? 0) + (other.overcommitted ?? 0),
    borrowedFrom: [...(one.borrowedFrom ?? []), ...(other.borrowedFrom ?? [])],
    lentTo: [...(one.lentTo ?? []), ...(other.lentTo ?? [])],
  };
}
