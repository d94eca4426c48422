// A forecast in words: whether a workload would start, when, and which edits would make it start.
import type { Tone } from "@/components/ui/badge";
import type { Simulation, SpecEdit } from "@/lib/api/types";

export interface ForecastWords {
  tone: Tone;
  title: string;
  details: string[];
  edits: SpecEdit[];
}

/** The forecast of the one workload of a simulation; times are worded by `clock`. */
export function forecastOf({ workloads, evictions }: Simulation, clock: (at: string) => string): ForecastWords | null {
  const [found] = workloads;
  if (found === undefined) return null;
  const { verdict, dominant, sentence, position, victims = [], edits = [], expectedStart } = found;
  const own = edits.filter(({ kind }) => kind === "Workload");
  const place = position?.clusterQueue ? [`Queue position ${position.clusterQueue} of ${position.of}`] : [];
  if (verdict === "Admitted") return { tone: "good", title: "Starts now", details: [sentence, "Would preempt: none"], edits: [] };
  if (verdict === "MakesRoom") {
    const names = victims.map(({ workload }) => workload).join(", ");
    return { tone: "move", title: `Starts after preempting ${victims.length} ${victims.length === 1 ? "workload" : "workloads"}`, details: [`Would preempt: ${names}`, `Evicted in all: ${evictions}`], edits: [] };
  }
  if (dominant === "Unschedulable") return { tone: "bad", title: sentence, details: [], edits: own };
  if (expectedStart?.about && expectedStart.earliest && expectedStart.latest) {
    const { about, earliest, latest } = expectedStart;
    return { tone: "wait", title: `Starts about ${clock(about)} (${clock(earliest)} to ${clock(latest)})`, details: [sentence, ...place], edits: own };
  }
  return { tone: "wait", title: `Stays pending: ${sentence}`, details: [...(expectedStart?.cannotSay ? [expectedStart.cannotSay] : []), ...place], edits: own };
}
