// A preemption round in words and numbers.
import type { Round, RoundVictim } from "@/lib/api/types";
import { byResource, formatAmountOf } from "@/lib/format/amounts";
import { formatDuration, secondsBetween } from "@/lib/format/times";

const LOSSES: Record<string, string> = {
  HostLost: "a host failed",
  Taken: "a higher-priority workload took it",
  QuotaChanged: "quota changed",
};

const STAGES: Record<string, string> = {
  Requested: "Eviction requested",
  Acknowledged: "Checkpointing",
  Stalled: "Deadline passed; waiting",
  Forced: "Deadline passed; killing pods",
  Stopping: "Stopping",
  Released: "Stopped",
  Cancelled: "Eviction cancelled",
  LeftLater: "Stopped after the preemption ended",
};

/** What the round did, as a title: "lab/gang preempted 2 workloads of language". */
export function titleOf({ preemptor, victims }: Round): string {
  const queues = [...new Set(victims.map(({ clusterQueue }) => clusterQueue))];
  const number = `${victims.length} ${victims.length === 1 ? "workload" : "workloads"}`;
  return `${preemptor} preempted ${number}${queues.length === 1 ? ` of ${queues[0] ?? ""}` : ""}`;
}

/** The number of released victims. */
export function releasedCount(round: Round): number {
  return round.victims.filter((victim) => victim.stage === "Released").length;
}

/** Whether the round is open. */
export function isOpen(round: Round): boolean {
  return ["Committed", "Draining", "Satisfied", "Invalidated"].includes(round.stage);
}

/** Everything the round frees, summed over its victims, in words. */
export function freedWords(victims: RoundVictim[]): string {
  const sums = new Map<string, number>();
  for (const victim of victims) {
    for (const [key, amount] of Object.entries(victim.freed)) sums.set(key, (sums.get(key) ?? 0) + amount);
  }
  const flavors = [...new Set([...sums.keys()].map((key) => key.slice(0, Math.max(0, key.indexOf("/")))))];
  // One flavor is named once.
  const one = flavors.length === 1 ? (flavors[0] ?? "") : "";
  const amounts = [...sums]
    .sort(([left], [right]) => byResource(resourceOf(left), resourceOf(right)))
    .map(([key, amount]) => (one === "" ? amountOfFlavor(key, amount) : formatAmountOf(resourceOf(key), amount)));
  return amounts.join(", ") + (one === "" || amounts.length === 0 ? "" : ` of ${one}`);
}

/** `flavor/resource` with an amount: "4 GPU of a100". */
export function amountOfFlavor(key: string, amount: number): string {
  const slash = key.indexOf("/");
  if (slash < 0) return formatAmountOf(key, amount);
  return `${formatAmountOf(key.slice(slash + 1), amount)} of ${key.slice(0, slash)}`;
}

/** Lost work: what each victim used times how long it had run, in resource-hours. */
export function lostHours(victims: RoundVictim[], resource: string): number {
  return victims.reduce((sum, victim) => {
    const amount = Object.entries(victim.freed)
      .filter(([key]) => key.endsWith(resource))
      .reduce((total, [, value]) => total + value, 0);
    return sum + (amount * victim.runningSeconds) / 3600;
  }, 0);
}

/** The outcome or state of the round, in one sentence. */
export function outcomeWords(round: Round): string {
  const took = round.endedAt ? formatDuration(secondsBetween(round.committedAt, round.endedAt)) : "";
  switch (round.stage) {
    case "Committed":
      return `Eviction requested for ${round.victims.length} ${round.victims.length === 1 ? "victim" : "victims"}`;
    case "Draining":
      return `${releasedCount(round)} of ${round.victims.length} victims stopped`;
    case "Satisfied":
      return "All victims stopped; admitting preemptor";
    case "Invalidated":
      return `Placement lost (${lossWords(round.invalidatedBy ?? "")}); searching again`;
    case "Completed":
      return `Admitted after ${took}`;
    case "Superseded":
      return `Placed elsewhere after ${took}`;
    case "Expired":
      return `Timed out after ${took}: victims didn't stop`;
    default:
      return round.outcome ? `${round.stage}: ${round.outcome}` : `${round.stage} after ${took}`;
  }
}

/** The cause by which nominated capacity was lost. */
export function lossWords(cause: string): string {
  return LOSSES[cause] ?? cause;
}

/** How long it is to a deadline, to the second: "4 m 12 s to the deadline". */
export function countdownWords(until: string, now: number): string {
  const seconds = Math.round((Date.parse(until) - now) / 1000);
  return seconds > 0 ? `${formatDuration(seconds)} to the deadline` : `deadline passed ${formatDuration(-seconds)} ago`;
}

/** What is used of a quota once the victims have gone and the preemptor is admitted, as planned. */
export function usedAfter({ victims }: Pick<Round, "victims">, { clusterQueue, flavor, resource, used, wanted }: NonNullable<Round["figures"]>[number]): number {
  const freed = victims.filter((victim) => victim.clusterQueue === clusterQueue).reduce((sum, victim) => sum + (victim.freed[`${flavor}/${resource}`] ?? 0), 0);
  return used - freed + wanted;
}

/** The server names at most so many refused candidates. */
const MAX_REFUSED = 20;

/** What the search for victims went through: "24 candidates, 2 protected, 6 preempted". */
export function searchWords({ considered, refused = [], victims }: Pick<Round, "considered" | "refused" | "victims">): string {
  const more = refused.length >= MAX_REFUSED ? " or more" : "";
  return `${considered} ${considered === 1 ? "candidate" : "candidates"}, ${refused.length}${more} protected, ${victims.length} preempted`;
}

/** How many of its pods have to go, and which and how many go on if not all of them have to. */
export function podsWords({ pods, shrinksTo = {}, indices = {} }: RoundVictim): string {
  const named = Object.entries(indices).map(([name, found]) => `${name} ${found}`);
  const words = `${pods} ${pods === 1 ? "pod" : "pods"}${named.length > 0 ? ` (${named.join(", ")})` : ""}`;
  const stay = Object.entries(shrinksTo).map(([name, count]) => `${count} of ${name}`);
  return stay.length > 0 ? `${words}; ${stay.join(", ")} keep running` : words;
}

/** The state of a victim in words. */
export function stageWords(victim: RoundVictim): string {
  return STAGES[victim.stage] ?? victim.stage;
}

/** Resource-hours that all victims lose, by resource, devices first: "12.0 GPU-hours". */
export function lostWords(victims: RoundVictim[]): string {
  const resources = new Set(victims.flatMap((victim) => Object.keys(victim.freed)).map(resourceOf));
  const words = [...resources]
    .sort((left, right) => Number(right.includes("/")) - Number(left.includes("/")))
    .map((resource) => hourWords(resource, lostHours(victims, resource)))
    .filter(Boolean);
  return words.join(", ") || "none";
}

function hourWords(resource: string, hours: number): string {
  if (resource === "cpu") return hours >= 100 ? `${(hours / 1000).toFixed(1)} CPU-hours` : "";
  if (resource === "memory") return "";
  if (hours < 0.05) return "";
  const name = resource.includes("/") ? resource.slice(resource.indexOf("/") + 1).toUpperCase() : resource;
  return `${hours.toFixed(1)} ${name}-hours`;
}

function resourceOf(key: string): string {
  return key.slice(key.indexOf("/") + 1);
}
