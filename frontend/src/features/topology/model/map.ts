// The map in numbers: how full a domain is, where workloads run, and what each colour means.
import type { Host, HostWorkload, NodeAllocation, TopologyDomain } from "@/lib/api/types";
import { formatAmount, shareOf } from "@/lib/format/amounts";
import { OTHER_QUEUES, QUEUE_COLORS, queueColors } from "@/lib/queue-colors";

/** What the color of a host says: of its workloads their ClusterQueue or priority, or of itself its state, use, flavor or free share. */
export type Colouring = "queue" | "priority" | "health" | "use" | "flavor" | "free";
export const COLOURINGS: readonly { value: Colouring; words: string }[] = [
  { value: "queue", words: "ClusterQueue" },
  { value: "use", words: "Use" },
  { value: "health", words: "Health" },
  { value: "flavor", words: "Flavor" },
  { value: "free", words: "Free" },
  { value: "priority", words: "Priority" },
];

export interface Piece {
  share: number;
  /** The name of a color token. */
  color: string;
}

/** Names of color tokens by what they stand for, in the order of the legend. */
export type Colors = Map<string, string>;

const UNKNOWN = "--idle-solid";
const HEALTH = { Ready: "--good-solid", Cordoned: "--hold-solid", "Not ready": "--bad-solid" } as const;
const USE_STEPS = 6;

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

/** The domain of the highest level that the address zooms into, else the first by name; undefined where there is one level or one domain. */
export function shownBlock(domains: TopologyDomain[], zoom: string): TopologyDomain | undefined {
  if (domains.length < 2 || domains.every(({ host }) => host)) return undefined;
  const name = zoom.split("/")[0] ?? "";
  return domains.find(({ path }) => path[0] === name) ?? [...domains].sort((one, other) => byName(one.path[0] ?? "", other.path[0] ?? ""))[0];
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
 * Where there are more than colours, the largest have their own and all the rest share one.
 */
export function legendOf(hosts: TopologyDomain[], colouring: Colouring): Colors {
  if (colouring === "health") return new Map(Object.entries(HEALTH));
  if (colouring === "use") return new Map(Array.from({ length: USE_STEPS }, (_, step) => [`${percentAt(step)} to ${percentAt(step + 1)}%`, `--use-${step + 1}`]));
  if (colouring === "free") return new Map(Array.from({ length: USE_STEPS }, (_, step) => [`${percentAt(step)} to ${percentAt(step + 1)}% free`, `--use-${step + 1}`]));
  const sizes = new Map<string, number>();
  const count = (group: string, more: number) => sizes.set(group, (sizes.get(group) ?? 0) + more);
  for (const { host } of hosts) {
    if (host && colouring === "flavor") count(flavorsOf(host), 1);
    else for (const workload of host?.workloads ?? []) count(groupOf(workload, colouring), workload.pods);
  }
  const bySize = [...sizes].sort((left, right) => right[1] - left[1] || byName(left[0], right[0])).map(([group]) => group);
  const own = bySize.slice(0, QUEUE_COLORS).sort(byName);
  const colors = colouring === "queue" ? queueColors(own) : new Map(own.map((group, index) => [group, `--queue-${index + 1}`]));
  return new Map([...own, ...bySize.slice(own.length)].map((group) => [group, colors.get(group) ?? OTHER_QUEUES]));
}

/** The flavors that a host is of, as they appear in the legend. */
function flavorsOf({ flavors }: Pick<Host, "flavors">): string {
  return flavors.join(", ");
}

function percentAt(step: number): number {
  return Math.round((step * 100) / USE_STEPS);
}

/** Whether a host takes pods, and why not. */
export function healthOf({ ready, cordoned }: { ready: boolean; cordoned: boolean }): keyof typeof HEALTH {
  if (!ready) return "Not ready";
  return cordoned ? "Cordoned" : "Ready";
}

/** How many hosts take no pods and why: "214 not ready, 62 cordoned"; empty where all do. */
export function closedWords(hosts: TopologyDomain[]): string {
  const states = hosts.map(({ host }) => host && healthOf(host));
  const count = (state: keyof typeof HEALTH) => states.filter((found) => found === state).length;
  const parts: [number, string][] = [[count("Not ready"), "not ready"], [count("Cordoned"), "cordoned"]];
  return parts.filter(([number]) => number > 0).map(([number, words]) => `${number.toLocaleString("en")} ${words}`).join(", ");
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
export function resourceWords(host: NodeAllocation, resource: string): string {
  const of = (amount: number | undefined) => formatAmount(resource, amount ?? 0, host.allocatable[resource] ?? 0);
  const closed = host.cordoned ? "cordoned" : host.ready ? "" : "not ready";
  const others = host.others[resource] ?? 0;
  const used = `${of(host.used[resource])} of ${of(host.allocatable[resource])} in use${others > 0 ? `, ${of(others)} outside Headgate` : ""}`;
  return closed ? `${used}; nothing free while it is ${closed}` : `${used}, ${of(host.free[resource])} free`;
}

/** Whether colors are of workloads and so fill a host as far as it is used. */
export function isOfWorkloads(colouring: Colouring): boolean {
  return colouring === "queue" || colouring === "priority";
}

/** The colored parts of a host, from the bottom: of workloads by their pods, else all of it in one color. */
export function piecesOf(domain: TopologyDomain, resource: string, colouring: Colouring, legend: Colors): Piece[] {
  if (colouring === "health") return domain.host ? [{ share: 1, color: HEALTH[healthOf(domain.host)] }] : [];
  if (colouring === "flavor") return domain.host ? [{ share: 1, color: legend.get(flavorsOf(domain.host)) ?? UNKNOWN }] : [];
  if (colouring === "free") {
    const step = Math.ceil(shareOf(domain.free[resource] ?? 0, domain.allocatable[resource] ?? 0) * USE_STEPS);
    return step === 0 ? [] : [{ share: 1, color: `--use-${step}` }];
  }
  if (colouring === "use") {
    const step = Math.ceil(fillOf(domain, resource) * USE_STEPS);
    return step === 0 ? [] : [{ share: 1, color: `--use-${step}` }];
  }
  const workloads = domain.host?.workloads ?? [];
  const pods = workloads.reduce((sum, workload) => sum + workload.pods, 0);
  const used = shareOf(domain.used[resource] ?? 0, domain.allocatable[resource] ?? 0);
  if (pods === 0) return used > 0 ? [{ share: used, color: UNKNOWN }] : [];
  const byColor = new Map<string, number>();
  for (const workload of workloads) {
    const color = legend.get(groupOf(workload, colouring)) ?? UNKNOWN;
    byColor.set(color, (byColor.get(color) ?? 0) + workload.pods);
  }
  const inOrder = [UNKNOWN, ...legend.values()];
  return [...byColor].sort(([left], [right]) => inOrder.indexOf(left) - inOrder.indexOf(right)).map(([color, count]) => ({ share: (used * count) / pods, color }));
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

/** Whether a host takes pods, in words. */
export function stateWords({ host }: TopologyDomain): string {
  if (host?.cordoned) return "Cordoned";
  return host?.ready ? "Ready" : "Not ready";
}
