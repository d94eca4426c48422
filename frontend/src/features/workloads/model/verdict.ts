// What stands above every reason: one sentence on where a workload is, and when it is expected to start.
import type { Tone } from "@/components/ui/badge";
import type { Blocker, Explanation, WorkloadObject } from "@/lib/api/types";
import { shortResource } from "@/lib/format/amounts";

import { failureWords } from "./pods";

export interface Verdict {
  tone: Tone;
  title: string;
  /** The last lines of the log that tells how it failed. */
  log?: string[];
  /** What else is said of it, a sentence each. */
  details: string[];
}

const QUIET: Partial<Record<Explanation["phase"], Tone>> = {
  Starting: "run",
  Running: "run",
  Succeeded: "good",
  Cancelled: "idle",
  Inactive: "idle",
  Evicting: "bad",
  Failed: "bad",
};

/** The verdict on a workload; times are those of `clock`, which words an instant. */
export function verdictOf(explanation: Explanation, workload: WorkloadObject | undefined, clock: (at: string) => string): Verdict {
  const { phase, dominant, sentence, expectedStart } = explanation;
  const tone = QUIET[phase];
  if (phase === "Failed") return failureOf(explanation, clock);
  if (tone !== undefined) return { tone, title: sentence, details: keptWords(explanation, clock) };
  const hold = workload?.status?.hold;
  if (phase === "OnHold" && hold) {
    const until = hold.expiresAt ? ` until ${clock(hold.expiresAt)}` : "";
    return { tone: "hold", title: `On hold by ${userOf(hold.owner)}${until}${hold.reason ? `: ${hold.reason}` : ""}`, details: dominant === "Unschedulable" ? [sentence] : [] };
  }
  if (dominant === "Unschedulable") return { tone: "bad", title: sentence, details: [] };
  const again = workload?.status?.requeueState?.requeueAt;
  if (phase === "Retrying" && again) return { tone: "wait", title: `Retrying at ${clock(again)}${retryWords(explanation)}`, details: causeOf(workload) };
  if (dominant === "BehindHead") return behindOf(explanation);
  if (expectedStart?.about && expectedStart.earliest && expectedStart.latest) {
    const { about, earliest, latest } = expectedStart;
    return { tone: "wait", title: `Starts about ${clock(about)} (${clock(earliest)} to ${clock(latest)})`, details: [sentence, ...estimateWords(explanation)] };
  }
  return { tone: phase === "Nominated" ? "move" : "wait", title: sentence, details: estimateWords(explanation) };
}

/** The workload ahead that a StrictFIFO queue evaluates alone, and why that one is pending; without them the sentence. */
function behindOf(explanation: Explanation): Verdict {
  const { sentence, arguments: given = {}, workload } = explanation;
  const head = (given["head"] as { key?: string } | undefined)?.key;
  if (!head) return { tone: "idle", title: `Not evaluated: ${sentence.charAt(0).toLowerCase()}${sentence.slice(1)}`, details: estimateWords(explanation) };
  const namespace = `${workload.split("/")[0] ?? ""}/`;
  const name = head.startsWith(namespace) ? head.slice(namespace.length) : head;
  const why = (given["why"] as { text?: string } | undefined)?.text;
  return { tone: "idle", title: `Not evaluated: behind ${name} (StrictFIFO)`, details: [...(why ? [`${name}: ${why}`] : []), ...estimateWords(explanation)] };
}

const MAX_LINES = 5;

/** How it failed by its first failed pod, with the last lines of that pod's log. */
function failureOf(explanation: Explanation, clock: (at: string) => string): Verdict {
  const { sentence, failedPods: [pod] = [] } = explanation;
  if (pod === undefined) return { tone: "bad", title: sentence, details: keptWords(explanation, clock) };
  return {
    tone: "bad",
    title: `Failed: ${failureWords(pod)}`,
    details: [sentence, ...keptWords(explanation, clock)].filter((words) => words !== "Failed"),
    ...(pod.lastLines?.length && { log: pod.lastLines.slice(-MAX_LINES) }),
  };
}

/** The number of the retry, or that an admission check asked for it. */
function retryWords({ code, arguments: given = {} }: Explanation): string {
  const { attempt, limit } = given;
  if (typeof attempt === "number") return ` (retry ${attempt}${typeof limit === "number" ? ` of ${limit}` : ""})`;
  return code === "CheckRetry" ? ": an admission check asked for it" : "";
}

/** Why it was evicted before. */
function causeOf(workload: WorkloadObject): string[] {
  const evicted = workload.status?.conditions?.find(({ type }) => type === "Evicted");
  return evicted?.message ? [evicted.message] : [];
}

function userOf(owner: string): string {
  return owner.slice(owner.indexOf(":") + 1);
}

/** On what the estimate rests, and how well such ranges held; or why there is none. */
function estimateWords({ expectedStart }: Explanation): string[] {
  if (!expectedStart) return [];
  const { cannotSay, basis } = expectedStart;
  return [cannotSay || `Range: ${basis}.`, shareWords(expectedStart)].filter((words) => words !== "" && words !== "Range: .");
}

/** The range that would have been told at the submission, beside the start. */
function keptWords({ expectedStart }: Explanation, clock: (at: string) => string): string[] {
  if (!expectedStart?.startedAt || !expectedStart.earliest || !expectedStart.latest) return [];
  const { startedAt, earliest, latest } = expectedStart;
  const inside = earliest <= startedAt && startedAt <= latest;
  const range = `${clock(earliest)} to ${clock(latest)}`;
  return [`Started ${clock(startedAt)}, ${inside ? "inside" : "outside"} the estimate at submission (${range}).`, shareWords(expectedStart)].filter(Boolean);
}

function shareWords({ calibration }: NonNullable<Explanation["expectedStart"]>): string {
  if (!calibration || calibration.predictions === 0) return "";
  const share = Math.round((100 * calibration.held) / calibration.predictions);
  return `${share}% of ${calibration.predictions} such ranges held (aim 80%).`;
}

/** Types of constraints that are no resource, where their name says too little. */
const ABOUT: Record<string, string> = { Round: "preemption in progress" };

/** What the other constraints are about, for the line that folds them. */
export function otherWords({ blockers }: Explanation, binding: Blocker | null): string {
  const others = blockers.filter((blocker) => blocker !== binding);
  const about = [...new Set(others.map(({ type, resource }) => (resource ? shortResource(resource) : (ABOUT[type] ?? type.toLowerCase()))))];
  return `${others.length} other ${others.length === 1 ? "constraint" : "constraints"}: ${about.join(", ")}`;
}
