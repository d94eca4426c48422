// What a drain does to the workloads on a host or on all nodes of an executor, in words.
import type { Departure } from "@/lib/api/types";

const counted = (count: number, noun: string) => `${count} ${count === 1 ? noun : `${noun}s`}`;

/** What a drain does to each workload of a host: moves, waits for capacity, or is evicted; a sentence each. */
export function drainWords(departures: Departure[]): string {
  const first = "Marks the host unschedulable.";
  if (departures.length === 0) return `${first} No workloads are affected.`;
  return [first, ...departures.map((one) => `${departureWords(one)}.`)].join(" ");
}

/** What a drain does to one workload, as a line of a list. */
export function departureWords({ workload, pods, outcome, hosts, reason }: Departure): string {
  const subject = `${workload} (${counted(pods, "pod")})`;
  if (outcome === "Moves") return `${subject} moves to ${hosts.map(({ host }) => host).join(", ")}`;
  const why = reason === "" ? "" : `: ${reason.replace(/\.$/, "")}`;
  return outcome === "Waits" ? `${subject} waits for capacity elsewhere${why}` : `${subject} is evicted and pending again${why}`;
}

/** How many workloads a drain moves, keeps waiting and evicts: "3 workloads: 2 move, 1 is evicted". */
export function departureCounts(departures: Departure[]): string {
  if (departures.length === 0) return "No workloads are affected";
  const of = (outcome: Departure["outcome"], one: string, many: string) => {
    const count = departures.filter((found) => found.outcome === outcome).length;
    return count === 0 ? [] : [`${count} ${count === 1 ? one : many}`];
  };
  const parts = [...of("Evicted", "is evicted", "are evicted"), ...of("Waits", "waits for capacity", "wait for capacity"), ...of("Moves", "moves", "move")];
  return `${counted(departures.length, "workload")}: ${parts.join(", ")}`;
}

/** The departures, those first that lose most: evicted, then waiting, then moved. */
export function worstFirst(departures: Departure[]): Departure[] {
  const rank: Record<Departure["outcome"], number> = { Evicted: 0, Waits: 1, Moves: 2 };
  return [...departures].sort((one, other) => rank[one.outcome] - rank[other.outcome]);
}
