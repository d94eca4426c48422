// A workload's row in words: why it is pending, how it ended, or where it runs.
import type { Status, WorkloadGroup, WorkloadRow } from "@/lib/api/types";
import { byResource, formatAmountOf, shortResource } from "@/lib/format/amounts";

const MAX_TOLD = 4;
const PLACED: readonly string[] = ["Starting", "Running", "Succeeded"];

/** In a line why the workload is pending or how it ended, or where it runs; `whole` is the sentence. */
export function reasonOf(row: WorkloadRow): { short: string; whole: string } {
  if (PLACED.includes(row.phase)) {
    const place = placeWords(row);
    return { short: place, whole: row.sentence === "" ? place : `${place}. ${row.sentence}` };
  }
  // The badge says it of a pending workload; that of a held or retrying one says something else.
  const isSaid = row.dominant !== "Unschedulable" || row.phase === "Pending";
  return { short: isSaid ? row.reason : `Unschedulable: ${row.reason}`, whole: row.sentence };
}

function placeWords({ clusterQueue, host, hosts }: WorkloadRow): string {
  if (hosts === 0) return clusterQueue === "" ? "" : `In ${clusterQueue}`;
  return hosts === 1 ? `On ${host}` : `On ${hosts} hosts`;
}

const TOLD: readonly (readonly [Status, string])[] = [
  ["Unschedulable", "unschedulable"],
  ["Failed", "failed"],
  ["Retrying", "retrying"],
  ["Evicting", "evicting"],
  ["OnHold", "on hold"],
  ["Inactive", "inactive"],
  ["Pending", "pending"],
  ["Running", "running"],
];

/** How the workloads of a group stand, what needs a look first: "12 unschedulable, 3 on hold, 40 running". */
export function groupWords({ phases = {} }: WorkloadGroup): string {
  return TOLD.flatMap(([phase, words]) => (phases[phase] ? [`${phases[phase].toLocaleString("en")} ${words}`] : [])).slice(0, MAX_TOLD).join(", ");
}

/** Amounts as the API gives them, devices first: quantities are text already, integers are in base units. */
export function usageWords(amounts: [resource: string, amount: string | number][]): string {
  return [...amounts]
    .sort(([one], [other]) => byResource(one, other))
    .map(([resource, amount]) => (typeof amount === "number" ? formatAmountOf(resource, amount) : `${withUnit(amount)} ${shortResource(resource)}`))
    .join(", ");
}

/** A binary quantity with its unit: "640Gi" becomes "640 GiB". */
function withUnit(quantity: string): string {
  return quantity.replace(/^([\d.]+)([KMGTPE]i)$/, "$1 $2B");
}
