// The recent usage of a LocalQueue (admission fair sharing).
import type { LocalQueueObject } from "@/lib/api/types";
import { byResource, formatAmountOf } from "@/lib/format/amounts";

const SUFFIXES: Record<string, number> = { n: 1e-9, u: 1e-6, m: 1e-3, "": 1 };

/** Consumption in words, devices first, then CPU; undefined where it is not counted. */
export function consumedWords(queue: LocalQueueObject | undefined): string | undefined {
  const consumed = queue?.status?.fairSharing?.admissionFairSharingStatus.consumedResources;
  if (consumed === undefined) return undefined;
  const telling = Object.entries(consumed).filter(([resource]) => resource === "cpu" || resource.includes("/"));
  const words = telling
    .map(([resource, quantity]) => ({ resource, amount: baseUnits(resource, quantity) }))
    .filter(({ amount }) => amount > 0)
    .sort((left, right) => byResource(left.resource, right.resource))
    .map(({ resource, amount }) => formatAmountOf(resource, amount));
  return words.join(", ") || "nothing";
}

/** The one of these LocalQueues that is meant. */
export function localQueueOf(queues: LocalQueueObject[], namespace: string, name: string): LocalQueueObject | undefined {
  return queues.find(({ metadata }) => metadata.namespace === namespace && metadata.name === name);
}

// Quantities have an SI suffix below one here; cores are kept in thousandths.
function baseUnits(resource: string, quantity: string): number {
  const found = /^(\d+(?:\.\d+)?)([num]?)$/.exec(quantity);
  if (found === null) return 0;
  const value = Number(found[1]) * (SUFFIXES[found[2] ?? ""] ?? 1);
  return resource === "cpu" ? value * 1000 : value;
}
