// The map in numbers: how full a domain is, where workloads run, and what each colour means.
import type { HostWorkload, TopologyDomain } from "@/lib/api/types";
import { formatAmount, shareOf } from "@/lib/format/amounts";

export type Colouring = "queue" | "priority";

/** Number of colours before they repeat in one grey. */
const SERIES = 8;

export interface Piece {
  share: number;
  series: number;
}

/** Every host below these domains. */
export function hostsOf(domains: TopologyDomain[]): TopologyDomain[] {
  return domains.flatMap((domain) => (domain.host ? [domain] : hostsOf(domain.children)));
}

/** The domain at a path, undefined when there is none. */
export function domainAt(domains: TopologyDomain[], path: string[]): TopologyDomain | undefined {
  for (const domain of domains) {
    if (domain.path.join("/") === path.join("/")) return domain;
    const found = domainAt(domain.children, path);
    if (found) return found;
  }
  return undefined;
}

/** How full a domain is with one resource, others' use included. */
export function fillOf(domain: TopologyDomain, resource: string): number {
  const used = (domain.used[resource] ?? 0) + (domain.others[resource] ?? 0);
  return shareOf(used, domain.allocatable[resource] ?? 0);
}

/** The group of workloads with a queue and priority that the user may not see. */
const OTHERS = "other teams";

/** What a workload is coloured by, as it appears in the legend. */
export function groupOf(workload: HostWorkload, colouring: Colouring): string {
  if (workload.clusterQueue === "") return OTHERS;
  return colouring === "queue" ? workload.clusterQueue : `priority ${workload.priority}`;
}

/**
 * The groups on the map in order of name, each with its colour, so that none changes colour as work comes and goes.
 * Where there are more than colours, the largest have their own and the last one stands for all the rest.
 */
export function legendOf(hosts: TopologyDomain[], colouring: Colouring): Map<string, number> {
  const pods = new Map<string, number>();
  for (const { host } of hosts) {
    for (const workload of host?.workloads ?? []) {
      const group = groupOf(workload, colouring);
      pods.set(group, (pods.get(group) ?? 0) + workload.pods);
    }
  }
  const bySize = [...pods].sort((left, right) => right[1] - left[1] || byName(left[0], right[0])).map(([group]) => group);
  const own = bySize.length > SERIES ? bySize.slice(0, SERIES - 1) : bySize;
  const named = [...own].sort(byName).concat(bySize.slice(own.length));
  return new Map(named.map((group, index) => [group, Math.min(index + 1, SERIES)]));
}

function byName(left: string, right: string): number {
  return left.localeCompare(right, "en", { numeric: true });
}

/** A workload on a host, in words: nothing is made up about those of other teams. */
export function hostWorkloadWords({ pods, clusterQueue, priority }: HostWorkload): string {
  const count = `${pods} ${pods === 1 ? "pod" : "pods"}`;
  return clusterQueue === "" ? count : `${count}, ${clusterQueue}, priority ${priority}`;
}

/** What of one resource is used and free on a host; where it takes no pods, that is why nothing is free. */
export function resourceWords(domain: TopologyDomain, resource: string): string {
  const of = (amount: number | undefined) => formatAmount(resource, amount ?? 0, domain.allocatable[resource] ?? 0);
  const closed = domain.host && (domain.host.cordoned ? "cordoned" : domain.host.ready ? "" : "not ready");
  const used = `${of(domain.used[resource])} used, ${of(domain.others[resource])} by others`;
  const whole = of(domain.allocatable[resource]);
  return closed ? `${used} of ${whole}; nothing free while it is ${closed}` : `${used}, ${of(domain.free[resource])} free of ${whole}`;
}

/** The used part of a host, split between groups by their pods. */
export function piecesOf(domain: TopologyDomain, resource: string, colouring: Colouring, legend: Map<string, number>): Piece[] {
  const workloads = domain.host?.workloads ?? [];
  const pods = workloads.reduce((sum, workload) => sum + workload.pods, 0);
  const used = shareOf(domain.used[resource] ?? 0, domain.allocatable[resource] ?? 0);
  if (pods === 0) return used > 0 ? [{ share: used, series: 0 }] : [];
  const bySeries = new Map<number, number>();
  for (const workload of workloads) {
    const series = legend.get(groupOf(workload, colouring)) ?? 0;
    bySeries.set(series, (bySeries.get(series) ?? 0) + workload.pods);
  }
  return [...bySeries].sort(([left], [right]) => left - right).map(([series, count]) => ({ share: (used * count) / pods, series }));
}

/** The most of one resource that is free on a single host. */
export function largestFit(hosts: TopologyDomain[], resource: string): { host: string; free: number } {
  let best = { host: "", free: 0 };
  for (const domain of hosts) {
    const free = domain.free[resource] ?? 0;
    if (domain.host && domain.host.ready && !domain.host.cordoned && free > best.free) best = { host: domain.host.name, free };
  }
  return best;
}

/** The resource to show first: an accelerator if there is one. */
export function firstResource(resources: string[]): string {
  return resources.find((name) => name.includes("/")) ?? resources.find((name) => name === "cpu") ?? resources[0] ?? "";
}
