// What a queue used over time, as one row of bars for each flavor and resource.
import type { UsagePoint } from "@/lib/api/types";
import { shortResource } from "@/lib/format/amounts";

export interface UsedOverTime {
  key: string;
  label: string;
  unit: string;
  bars: { at: string; count: number }[];
}

const GIBIBYTE = 2 ** 30;
const BYTES = /^(memory|storage|ephemeral-storage|hugepages-.*)$/;

/** A row for everything the queue had quota of or used at any of the instants. */
export function usedOverTime(points: UsagePoint[]): UsedOverTime[] {
  const known = new Map(points.flatMap(({ lines }) => lines.map(({ flavor, resource }) => [`${flavor}/${resource}`, { flavor, resource }])));
  return [...known].map(([key, { flavor, resource }]) => ({
    key,
    label: `${shortResource(resource)} of ${flavor}`,
    unit: unitOf(resource),
    bars: points.map(({ at, lines }) => {
      const line = lines.find((one) => one.flavor === flavor && one.resource === resource);
      return { at, count: inUnits(resource, line?.used ?? 0) };
    }),
  }));
}

const HAPPENED = ["submitted", "admitted", "evicted", "finished"] as const;

/** A row for everything that happened to workloads of the queue between the instants. */
export function happenedOverTime(points: UsagePoint[]): UsedOverTime[] {
  return HAPPENED.filter((what) => points.some((point) => point[what] > 0)).map((what) => ({
    key: what,
    label: `Workloads ${what}`,
    unit: "workloads",
    bars: points.map((point) => ({ at: point.at, count: point[what] })),
  }));
}

function unitOf(resource: string): string {
  if (resource === "cpu") return "CPU";
  return BYTES.test(resource) ? "GiB" : shortResource(resource);
}

// Cores come in thousandths, bytes are shown in GiB; one decimal is enough for a bar.
function inUnits(resource: string, amount: number): number {
  const scale = resource === "cpu" ? 1000 : BYTES.test(resource) ? GIBIBYTE : 1;
  return Math.round((amount / scale) * 10) / 10;
}
