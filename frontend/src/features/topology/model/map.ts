// The map in numbers: how full a domain is, where workloads run, and what each colour means.
import type { HostWorkload, NodeAllocation } from "@/lib/api/types";
import { formatAmount, shareOf } from "@/lib/format/amounts";
import { OTHER_QUEUES, QUEUE_COLORS, queueColors } from "@/lib/queue-colors";

import { type Domain, isHost, nameOf, type RowState, stateOf } from "./columns";

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
export function hostsOf(domains: Domain[]): Domain[] {
  return domains.flatMap((domain) => (isHost(domain) ? [domain] : hostsOf(domain.children)));
}

/** The domain at a path, undefined when there is none. */
export function domainAt(domains: Domain[], path: string[]): Domain | undefined {
  for (const domain of domains) {
    if (domain.path.join("/") === path.join("/")) return domain;
    const found = domainAt(domain.children, path);
    if (found) return found;
  }
  return undefined;
}

/** The domain of the highest level that the address zooms into, else the first by name; undefined where there is one level or one domain. */
export function shownBlock(domains: Domain[], zoom: string): Domain | undefined {
  if (domains.length < 2 || domains.every(isHost)) return undefined;
  const name = zoom.split("/")[0] ?? "";
  return domains.find(({ path }) => path[0] === name) ?? [...domains].sort((one, other) => byName(one.path[0] ?? "", other.path[0] ?? ""))[0];
}

/** How full a domain is with one resource, others' use included. */
export function fillOf({ used, others, allocatable }: RowState, resource: string): number {
  return shareOf((used[resource] ?? 0) + (others[resource] ?? 0), allocatable[resource] ?? 0);
}

/** The group of workloads with a queue and priority that the user may not see. */
const OTHERS = "other teams";

/** What a host is coloured by, as it appears in the legend; empty without workloads. */
export function groupOf({ queue, priority, flavors }: RowState, colouring: Colouring): string {
  if (colouring === "flavor") return flavors.join(", ");
  if (queue === null) return "";
  if (colouring === "queue") return queue || OTHERS;
  return priority === null ? OTHERS : `priority ${priority}`;
}

/**
 * The groups on the map in order of name, each with its colour, so that none changes colour as work comes and goes.
 * Where there are more than colours, the largest have their own and all the rest share one.
 */
export function legendOf(hosts: readonly RowState[], colouring: Colouring): Colors {
  if (colouring === "health") return new Map(Object.entries(HEALTH));
  if (colouring === "use") return new Map(Array.from({ length: USE_STEPS }, (_, step) => [`${percentAt(step)} to ${percentAt(step + 1)}%`, `--use-${step + 1}`]));
  if (colouring === "free") return new Map(Array.from({ length: USE_STEPS }, (_, step) => [`${percentAt(step)} to ${percentAt(step + 1)}% free`, `--use-${step + 1}`]));
  const sizes = new Map<string, number>();
  for (const group of hosts.map((host) => groupOf(host, colouring))) if (group !== "") sizes.set(group, (sizes.get(group) ?? 0) + 1);
  const bySize = [...sizes].sort((left, right) => right[1] - left[1] || byName(left[0], right[0])).map(([group]) => group);
  const own = bySize.slice(0, QUEUE_COLORS).sort(byName);
  const colors = colouring === "queue" ? queueColors(own) : new Map(own.map((group, index) => [group, `--queue-${index + 1}`]));
  return new Map([...own, ...bySize.slice(own.length)].map((group) => [group, colors.get(group) ?? OTHER_QUEUES]));
}

function percentAt(step: number): number {
  return Math.round((step * 100) / USE_STEPS);
}

/** Whether a host takes pods, and why not. */
export function healthOf({ ready, cordoned }: Pick<RowState, "ready" | "cordoned">): keyof typeof HEALTH {
  if (ready === 0) return "Not ready";
  return cordoned > 0 ? "Cordoned" : "Ready";
}

/** How many hosts take no pods and why: "214 not ready, 62 cordoned"; empty where all do. */
export function closedWords(hosts: readonly RowState[]): string {
  const states = hosts.map(healthOf);
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

/** The colored part of a host, from the bottom: as high as workloads use it, or all of it; null where there is none. */
export function pieceOf(host: RowState, resource: string, colouring: Colouring, legend: Colors): Piece | null {
  if (colouring === "health") return { share: 1, color: HEALTH[healthOf(host)] };
  if (colouring === "flavor") return { share: 1, color: legend.get(groupOf(host, colouring)) ?? UNKNOWN };
  if (colouring === "free" || colouring === "use") {
    const share = colouring === "use" ? fillOf(host, resource) : shareOf(host.free[resource] ?? 0, host.allocatable[resource] ?? 0);
    const step = Math.ceil(share * USE_STEPS);
    return step === 0 ? null : { share: 1, color: `--use-${step}` };
  }
  const used = shareOf(host.used[resource] ?? 0, host.allocatable[resource] ?? 0);
  return used === 0 ? null : { share: used, color: legend.get(groupOf(host, colouring)) ?? UNKNOWN };
}

/** The most of one resource that is free on a single host. */
export function largestFit(hosts: Domain[], states: readonly RowState[], resource: string): { host: string; free: number } {
  let best = { host: "", free: 0 };
  for (const host of hosts) {
    const free = stateOf(states, host).free[resource] ?? 0;
    if (free > best.free) best = { host: nameOf(host), free };
  }
  return best;
}

/** The resource to show first: an accelerator if there is one. */
export function firstResource(resources: string[]): string {
  return resources.find((name) => name.includes("/")) ?? resources.find((name) => name === "cpu") ?? resources[0] ?? "";
}

/** Whether a host takes pods, in words. */
export function stateWords({ ready, cordoned }: Pick<RowState, "ready" | "cordoned">): string {
  if (cordoned > 0) return "Cordoned";
  return ready > 0 ? "Ready" : "Not ready";
}
