// Pods of an attempt: what is asked of them, and how each one ended in words.
import type { Tone } from "@/components/ui/badge";
import type { AttemptSummary, Pod } from "@/lib/api/types";
import { workloadAddress } from "@/lib/events";

export const POD_STATES = ["Assigned", "Starting", "Running", "Succeeded", "Failed", "Stopped", "Lost"] as const;

export type PodState = Pod["state"];

/** Which pods are shown; empty fields do not filter. */
export interface PodFilters {
  attempt: string;
  state: string;
  podSet: string;
  node: string;
  runs: string;
}

export const POD_FILTERS = ["attempt", "state", "podSet", "node", "runs"] as const satisfies (keyof PodFilters)[];

/** The pods of the newest attempt. */
export const ALL_PODS: PodFilters = { attempt: "", state: "", podSet: "", node: "", runs: "" };

const TONES: Record<PodState, Tone> = {
  Assigned: "wait",
  Starting: "run",
  Running: "run",
  Succeeded: "good",
  Failed: "bad",
  Stopped: "idle",
  Lost: "bad",
};

const SIGNALS: Record<number, string> = {
  1: "SIGHUP",
  2: "SIGINT",
  3: "SIGQUIT",
  4: "SIGILL",
  6: "SIGABRT",
  7: "SIGBUS",
  8: "SIGFPE",
  9: "SIGKILL",
  11: "SIGSEGV",
  13: "SIGPIPE",
  14: "SIGALRM",
  15: "SIGTERM",
  24: "SIGXCPU",
  25: "SIGXFSZ",
};

const REASONS: Record<string, string> = {
  OOMKilled: "out of memory",
  DeadlineExceeded: "deadline exceeded",
  StartFailed: "start failed",
  NodeLost: "node lost",
  Evicted: "evicted",
};

/** The tone of a state. */
export function podTone(state: PodState): Tone {
  return TONES[state];
}

/** How a pod ended, such as `exit 137 (out of memory)`; empty while it has not. */
export function endWords({ exitCode, signal, reason, message }: Partial<Pick<Pod, "exitCode" | "signal" | "reason" | "message">>): string {
  const how = signal ? `signal ${signal}${SIGNALS[signal] ? ` ${SIGNALS[signal]}` : ""}` : typeof exitCode === "number" ? `exit ${exitCode}` : "";
  const cause = [(reason && REASONS[reason]) ?? "", message].filter(Boolean).join(": ");
  if (how === "") return cause;
  return cause === "" ? how : `${how} (${cause})`;
}

/** How a workload failed by its first failed pod, such as `exit 137 on rank 3, out of memory`. */
export function failureWords(pod: Partial<Pick<Pod, "exitCode" | "signal" | "reason" | "message">> & { rank: number }): string {
  const how = endWords({ ...pod, reason: null, message: "" }) || "failed";
  const cause = [(pod.reason && REASONS[pod.reason]) ?? "", pod.message].filter(Boolean).join(": ");
  return `${how} on rank ${pod.rank}${cause === "" ? "" : `, ${cause}`}`;
}

/** The pod as other pages name it: pod set and index. */
export function podName({ podSet, index }: Pick<Pod, "podSet" | "index">): string {
  return `${podSet}/${index}`;
}

/** The pods of an attempt by state in words, such as `2 Running, 1 Failed`. */
export function countWords({ pods }: AttemptSummary): string {
  return POD_STATES.flatMap((state) => (pods[state] ? [`${pods[state]} ${state}`] : [])).join(", ") || "no pods";
}

/** How many pods of an attempt run, and what became of others, such as `3 of 4 pods running, 1 Failed`. */
export function progressWords(attempt: AttemptSummary | undefined): string {
  const total = attempt === undefined ? 0 : podCount(attempt);
  if (attempt === undefined || total === 0) return "";
  const ended = POD_STATES.slice(3).flatMap((state) => (attempt.pods[state] ? [`${attempt.pods[state]} ${state}`] : []));
  return [`${attempt.pods["Running"] ?? 0} of ${total} ${total === 1 ? "pod" : "pods"} running`, ...ended].join(", ");
}

/** How many pods an attempt has. */
export function podCount({ pods }: AttemptSummary): number {
  return Object.values(pods).reduce((sum, count) => sum + count, 0);
}

const WORST: readonly PodState[] = ["Failed", "Lost"];

/** The pods with those that failed before all others. */
export function worstFirst(pods: readonly Pod[]): Pod[] {
  return [...pods.filter(({ state }) => WORST.includes(state)), ...pods.filter(({ state }) => !WORST.includes(state))];
}

/** Where the output of a pod is shown. */
export function logAddress(workloadKey: string, attempt: string, pod: Pick<Pod, "podSet" | "index" | "run">): string {
  const query = new URLSearchParams({ tab: "logs", attempt, pod: podName(pod), ...(pod.run > 1 ? { run: String(pod.run) } : {}) });
  return `${workloadAddress(workloadKey)}?${query}`;
}
