// Figures of the overview from what the API tells.
import type { Causes, SystemStatus } from "@/lib/api/types";
import { formatDuration } from "@/lib/format/times";

const LATE_SECONDS = 10;

/** Workloads that can never start as things are, and what their wait has cost. */
export function unschedulableOf({ causes }: Causes): { count: number; gpuSeconds: number } {
  const never = causes.filter(({ kind }) => kind === "NeverStarts");
  return {
    count: never.reduce((sum, cause) => sum + cause.count, 0),
    gpuSeconds: never.reduce((sum, cause) => sum + cause.gpuSeconds, 0),
  };
}

/** Whether workers decide and reads are fresh, in two words and a figure. */
export function schedulingOf({ partitions, headLagSeconds }: SystemStatus): { words: string; detail: string } {
  const halted = partitions.filter(({ halted }) => halted).length;
  const lag = `lag ${headLagSeconds < 1 ? `${headLagSeconds.toFixed(1)} s` : formatDuration(headLagSeconds)}`;
  const detail = `${partitions.length} ${partitions.length === 1 ? "partition" : "partitions"}, ${lag}`;
  if (halted > 0) return { words: `${halted} halted`, detail };
  return { words: headLagSeconds > LATE_SECONDS ? "Behind" : "Healthy", detail };
}
