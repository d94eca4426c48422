// What a drain does to those on a host, in words.
import type { Departure } from "@/lib/api/types";

const PODS = (count: number) => `${count} ${count === 1 ? "pod" : "pods"}`;

/** What a drain does to each workload of a host: moves, waits for capacity, or is evicted; a sentence each. */
export function drainWords(departures: Departure[]): string {
  const first = "Marks the host unschedulable.";
  if (departures.length === 0) return `${first} No workloads are affected.`;
  return [first, ...departures.map(departureWords)].join(" ");
}

function departureWords({ workload, pods, outcome, hosts, reason }: Departure): string {
  const subject = `${workload} (${PODS(pods)})`;
  if (outcome === "Moves") return `${subject} moves to ${hosts.map(({ host }) => host).join(", ")}.`;
  const why = reason === "" ? "" : `: ${reason}`;
  return outcome === "Waits" ? `${subject} waits for capacity elsewhere${why}.` : `${subject} is evicted and pending again${why}.`;
}
