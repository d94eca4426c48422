// The overview's chart and figures from the API's points: the largest queues by name, the rest together.
import type { CapacityHistory, CapacityPoint, UsageGrouping } from "@/lib/api/types";
import { OTHER_QUEUES, QUEUE_COLORS, queueColors } from "@/lib/queue-colors";

export interface NamedValues {
  name: string;
  values: number[];
  color: string;
  hatched?: boolean;
}

/** The name of the groups that have no color of their own, together. */
export const OTHER = "other";

export interface Use {
  name: string;
  used: number;
}

/** What each group uses at an instant. */
export function useOf({ queues, groups }: CapacityPoint, by: UsageGrouping): Use[] {
  return by === "clusterQueue" ? queues.map(({ clusterQueue, used }) => ({ name: clusterQueue, used })) : groups;
}

/** Every group of the points, the one that used most in all first; equal ones by name. */
export function groupsByUse(points: readonly Use[][]): string[] {
  const used = new Map<string, number>();
  for (const point of points) for (const one of point) used.set(one.name, (used.get(one.name) ?? 0) + one.used);
  return [...used].sort(([one, most], [other, least]) => least - most || one.localeCompare(other)).map(([name]) => name);
}

/** Use by group: six by name, the others as one hatched area. */
export function seriesOf(points: CapacityPoint[], by: UsageGrouping): NamedValues[] {
  const uses = points.map((point) => useOf(point, by));
  const names = groupsByUse(uses);
  const shown = names.slice(0, QUEUE_COLORS);
  const colors = queueColors(shown);
  const valuesOf = (isMember: (name: string) => boolean) =>
    uses.map((point) => point.reduce((sum, { name, used }) => sum + (isMember(name) ? used : 0), 0));
  const found: NamedValues[] = shown.map((name) => ({ name, values: valuesOf((one) => one === name), color: colors.get(name) ?? OTHER_QUEUES }));
  if (names.length > QUEUE_COLORS) found.unshift({ name: OTHER, values: valuesOf((one) => !shown.includes(one)), color: OTHER_QUEUES, hatched: true });
  return found;
}

/** The same of one ClusterQueue alone: its use, its pending demand and its own quota. */
export function ofQueue(history: CapacityHistory, queue: string): CapacityHistory {
  const points = history.points.map((point) => {
    const queues = point.queues.filter(({ clusterQueue }) => clusterQueue === queue);
    return { ...point, queues, groups: [], offered: 0, nominal: queues.reduce((sum, { nominal }) => sum + nominal, 0) };
  });
  return { ...history, by: "clusterQueue", points };
}

export interface Now {
  used: number;
  capacity: number;
  pending: number;
  pendingWorkloads: number;
}

/** The newest point in one line; capacity is what quota and ready hosts both allow. */
export function nowOf({ points }: CapacityHistory): Now {
  const last = points.at(-1);
  if (last === undefined) return { used: 0, capacity: 0, pending: 0, pendingWorkloads: 0 };
  const sum = (of: (queue: CapacityPoint["queues"][number]) => number) => last.queues.reduce((total, queue) => total + of(queue), 0);
  return {
    used: sum(({ used }) => used),
    capacity: capacityAt(last),
    pending: sum(({ pending }) => pending),
    pendingWorkloads: sum(({ pendingWorkloads }) => pendingWorkloads),
  };
}

/** What all queues used together at each point. */
export function usedOverTime(points: readonly CapacityPoint[]): number[] {
  return points.map(({ queues }) => queues.reduce((sum, { used }) => sum + used, 0));
}

/** What is above capacity: the part that hosts or quota no longer cover, since both can shrink under running work. */
export function overuseOf({ points }: CapacityHistory): { amount: number; bound: "hosts" | "quota" } | undefined {
  const last = points.at(-1);
  if (last === undefined) return undefined;
  const used = last.queues.reduce((total, queue) => total + queue.used, 0);
  const amount = used - capacityAt(last);
  if (amount <= 0) return undefined;
  return { amount, bound: capacityAt(last) < last.nominal ? "hosts" : "quota" };
}

/** Hosts that report nothing bound nothing: quota alone does then. */
export function capacityAt({ nominal, offered }: CapacityPoint): number {
  return offered > 0 ? Math.min(nominal, offered) : nominal;
}
