// What a queue used and what became of its workloads over time.
import type { UsagePoint } from "@/lib/api/types";
import { byResource } from "@/lib/format/amounts";

export interface HappenedOverTime {
  key: string;
  label: string;
  /** At each of the points, those since the one before. */
  counts: number[];
}

const HAPPENED = ["submitted", "admitted", "evicted", "finished"] as const;

/** A row for everything that happened to workloads of the queue between the instants. */
export function happenedOverTime(points: UsagePoint[]): HappenedOverTime[] {
  return HAPPENED.filter((what) => points.some((point) => point[what] > 0)).map((what) => ({
    key: what,
    label: `Workloads ${what}`,
    counts: points.map((point) => point[what]),
  }));
}

export interface QueueCourse {
  /** Seconds since 1970, ascending. */
  times: number[];
  /** Use of the queue's own quota, and what is borrowed beyond it. */
  own: number[];
  borrowed: number[];
  nominal: number[];
  /** The nominal quota and what may be borrowed beyond it; undefined where no flavor limits borrowing. */
  limit: (number | null)[] | undefined;
  /** Pending workloads. */
  pending: number[];
}

/** One resource of all flavors together at each point. */
export function courseOf(points: readonly UsagePoint[], resource: string): QueueCourse {
  const sums = points.map(({ lines }) => {
    const of = lines.filter((line) => line.resource === resource);
    const sum = (field: "used" | "borrowed" | "nominal") => of.reduce((total, line) => total + line[field], 0);
    const isLimited = of.length > 0 && of.every(({ borrowingLimit }) => typeof borrowingLimit === "number");
    const limit = isLimited ? of.reduce((total, line) => total + line.nominal + (line.borrowingLimit ?? 0), 0) : null;
    return { used: sum("used"), borrowed: sum("borrowed"), nominal: sum("nominal"), limit };
  });
  return {
    times: points.map(({ at }) => Date.parse(at) / 1000),
    own: sums.map(({ used, borrowed }) => used - borrowed),
    borrowed: sums.map(({ borrowed }) => borrowed),
    nominal: sums.map(({ nominal }) => nominal),
    limit: sums.some(({ limit }) => limit !== null) ? sums.map(({ limit }) => limit) : undefined,
    pending: points.map(({ pending }) => pending),
  };
}

/** Every resource that the queue had quota of or used at any of the points, GPUs first. */
export function resourcesIn(points: readonly UsagePoint[]): string[] {
  return [...new Set(points.flatMap(({ lines }) => lines.map(({ resource }) => resource)))].sort(byResource);
}
