// The actions on a workload by phase, in words. The server decides; this shows it beforehand.
import { type ActionInput, quoted } from "@/lib/actions";
import type { WorkloadObject } from "@/lib/api/types";

export const WORKLOAD_ACTIONS = ["hold", "release", "requeue", "activate", "deactivate", "cancel"] as const;
export type WorkloadAction = (typeof WORKLOAD_ACTIONS)[number];

export interface ActionWords {
  verb: string;
  words: string;
  danger: boolean;
  expires: boolean;
}

export const ACTION_WORDS: Record<WorkloadAction, ActionWords> = {
  hold: {
    verb: "Hold",
    words: "Prevents admission until released. A running workload keeps running.",
    danger: false,
    expires: true,
  },
  release: { verb: "Release", words: "Removes the hold so that it can be admitted.", danger: false, expires: false },
  requeue: {
    verb: "Requeue",
    words: "Stops its pods, releases its quota and returns it to the queue.",
    danger: true,
    expires: false,
  },
  activate: {
    verb: "Activate",
    words: "Returns it to the queue and resets the requeue count.",
    danger: false,
    expires: false,
  },
  deactivate: {
    verb: "Deactivate",
    words: "Removes it from the queue until activated. Running pods are stopped.",
    danger: true,
    expires: false,
  },
  cancel: { verb: "Cancel workload", words: "Ends the workload permanently. Running pods are stopped. This can't be undone.", danger: true, expires: false },
};

const ENDED: readonly string[] = ["Succeeded", "Failed", "Cancelled"];
const WITH_QUOTA: readonly string[] = ["QuotaReserved", "Starting", "Running"];

/** What of a workload decides which actions apply to it. */
export interface Stage {
  phase: string;
  held: boolean;
  active: boolean;
}

/** The stage of a workload. */
export function stageOf(workload: WorkloadObject): Stage {
  return { phase: workload.status?.phase ?? "Pending", held: isHeld(workload), active: workload.spec.active !== false };
}

/** Why the action makes no sense in the workload's stage; undefined where it does. */
export function stageRefusal(action: WorkloadAction, { phase, held, active }: Stage): string | undefined {
  if (ENDED.includes(phase)) return "Already finished";
  switch (action) {
    case "hold":
      return held ? "Already on hold" : undefined;
    case "release":
      return held ? undefined : "Not on hold";
    case "requeue":
      return WITH_QUOTA.includes(phase) || phase === "Retrying" ? undefined : "Not admitted";
    case "activate":
      return active ? "Already active" : undefined;
    case "deactivate":
      return active ? undefined : "Already inactive";
    case "cancel":
      return undefined;
  }
}

/** The action that a phase calls for: what undoes a hold or an end first, a requeue of what has quota, else a hold. */
export function mainAction(stage: Stage): WorkloadAction {
  const first: WorkloadAction[] = ["release", "activate", "requeue"];
  return first.find((name) => stageRefusal(name, stage) === undefined) ?? "hold";
}

/** Whether it can be protected from preemption: what has no place yet, nothing preempts. */
export function canProtect({ phase }: Stage): boolean {
  return WITH_QUOTA.includes(phase);
}

/** Whether it can be edited and submitted once more in place of the one that is pending. */
export function canEdit({ phase }: Stage): boolean {
  return phase === "Pending" || phase === "OnHold" || phase === "Retrying" || phase === "Inactive";
}

/** What is to protect a workload: a class, a number, or neither for its own priority. */
export interface Protection {
  className: string;
  priority: string;
}

/** The request that sets the protection; a number goes before a class. */
export function protectionBody({ className, priority }: Protection, reason: string): { preemptionPriorityClassName?: string; preemptionPriority?: number; reason: string } {
  if (priority.trim() !== "") return { preemptionPriority: Number(priority), reason };
  return className === "" ? { reason } : { preemptionPriorityClassName: className, reason };
}

/** The same as a command. */
export function protectCommand(key: string, { className, priority }: Protection, reason: string): string {
  const [namespace = "", name = ""] = key.split("/");
  const by = priority.trim() !== "" ? ` --priority ${quoted(priority.trim())}` : className === "" ? "" : ` --class ${quoted(className)}`;
  return `headgate protect ${quoted(name)} -n ${quoted(namespace)}${by}${reason === "" ? "" : ` --reason ${quoted(reason)}`}`;
}

/** The action that undoes one; undefined where none does. */
export const UNDOES: Partial<Record<WorkloadAction, WorkloadAction>> = { hold: "release", deactivate: "activate", activate: "deactivate" };

/** Whether the workload has ended, so that it can only be submitted again. */
export function hasEnded({ phase }: Stage): boolean {
  return ENDED.includes(phase);
}

/** Whether something can still admit it: its explanation may be a moment behind, with remedies that came too late. */
export function canBeUnblocked(workload: WorkloadObject): boolean {
  return !workload.status?.admission && !hasEnded(stageOf(workload));
}

/** The verb on the button: what waits in backoff is requeued at once. */
export function verbOf(action: WorkloadAction, { phase }: Stage): string {
  return action === "requeue" && phase === "Retrying" ? "Requeue now" : ACTION_WORDS[action].verb;
}

/** Whether the workload is on hold, pending or running. */
export function isHeld(workload: WorkloadObject): boolean {
  if (workload.status?.phase === "OnHold") return true;
  return (workload.status?.conditions ?? []).some((found) => found.type === "Held" && found.status === "True");
}

const MAX_COMMANDS = 20;

/** The CLI equivalent, one line per workload; of many the first. */
export function commandFor(action: WorkloadAction, keys: string[], input: ActionInput): string {
  const reason = input.reason === "" ? "" : ` --reason ${quoted(input.reason)}`;
  const expiry = input.expirySeconds > 0 ? ` --for ${input.expirySeconds}s` : "";
  const left = keys.length - MAX_COMMANDS;
  return keys
    .slice(0, MAX_COMMANDS)
    .map((key) => {
      const [namespace = "", name = ""] = key.split("/");
      return `headgate ${action} ${quoted(name)} -n ${quoted(namespace)}${reason}${expiry}`;
    })
    .concat(left > 0 ? [`# and ${left.toLocaleString("en")} more`] : [])
    .join("\n");
}

/** Where changes of the workload are simulated. */
export function simulatorAddress(key: string): string {
  return `/simulations/new?workload=${encodeURIComponent(key)}`;
}
