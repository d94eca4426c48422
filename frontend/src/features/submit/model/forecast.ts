// A forecast in words: whether a workload would start, when, and which edits would make it start.
import type { Tone } from "@/components/ui/badge";
import type { Simulation, SpecEdit } from "@/lib/api/types";

export interface ForecastWords {
  tone: Tone;
  title: string;
  details: string[];
  /** Its place in line; empty where it waits in none. */
  position: string;
  /** The workloads that it would preempt. */
  preempts: string;
  edits: SpecEdit[];
}

/** The forecast of the one workload of a simulation; times are worded by `clock`. */
export function forecastOf({ workloads, evictions }: Simulation, clock: (at: string) => string): ForecastWords | null {
  const [found] = workloads;
  if (found === undefined) return null;
  const { verdict, dominant, sentence, position, victims = [], edits = [], expectedStart } = found;
  const known = {
    position: position?.clusterQueue ? `Queue position ${position.clusterQueue} of ${position.of}` : "",
    preempts: victims.length === 0 ? "none" : victims.map(({ workload }) => workload).join(", "),
    edits: edits.filter(({ kind }) => kind === "Workload"),
  };
  if (verdict === "Admitted") return { ...known, tone: "good", title: "Starts now", details: [sentence], position: "", edits: [] };
  if (verdict === "MakesRoom") {
    const title = `Starts after preempting ${victims.length} ${victims.length === 1 ? "workload" : "workloads"}`;
    return { ...known, tone: "move", title, details: [`Evicted in all: ${evictions}`], edits: [] };
  }
  if (dominant === "Unschedulable") return { ...known, tone: "bad", title: sentence, details: [], position: "" };
  if (expectedStart?.about && expectedStart.earliest && expectedStart.latest) {
    const { about, earliest, latest } = expectedStart;
    return { ...known, tone: "wait", title: `Starts about ${clock(about)} (${clock(earliest)} to ${clock(latest)})`, details: [sentence] };
  }
  return { ...known, tone: "wait", title: `Stays pending: ${sentence}`, details: expectedStart?.cannotSay ? [expectedStart.cannotSay] : [] };
}
