// A workload's row in words: why it is pending, how it ended, or where it runs.
import type { WorkloadRow } from "@/lib/api/types";
import { formatAmountOf, shortResource } from "@/lib/format/amounts";

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

/** An amount as the API gives it: quantities are text already, integers are in base units. */
export function usageWords(resource: string, amount: string | number): string {
  return typeof amount === "number" ? formatAmountOf(resource, amount) : `${amount} ${shortResource(resource)}`;
}
