// Executors in words: whether they are heard of, and what follows where they are not.
import type { Tone } from "@/components/ui/badge";
import type { Condition, Executor, Node } from "@/lib/api/types";

export interface ExecutorState {
  words: "Connected" | "Lost" | "Never connected";
  tone: Tone;
  /** Since when; undefined where it never was connected. */
  since: string | undefined;
}

/** Whether the executor is heard of. */
export function stateOf(executor: Executor): ExecutorState {
  const found = conditionOf(executor, "Connected");
  if (found?.status === "True") return { words: "Connected", tone: "good", since: found.lastTransitionTime };
  if ((executor.status?.epoch ?? 0) === 0) return { words: "Never connected", tone: "idle", since: undefined };
  return { words: "Lost", tone: "bad", since: found?.lastTransitionTime };
}

const USUAL_LEASE_SECONDS = 60;
const USUAL_POLICY = "Replace";

/** What holds where the spec does not say. */
export function termsOf({ spec }: Pick<Executor, "spec">): { leaseSeconds: number; policy: NonNullable<Executor["spec"]["nodeLossPolicy"]> } {
  return { leaseSeconds: spec.leaseSeconds ?? USUAL_LEASE_SECONDS, policy: spec.nodeLossPolicy ?? USUAL_POLICY };
}

const POLICIES: Record<NonNullable<Executor["spec"]["nodeLossPolicy"]>, string> = {
  Replace: "Its pods are placed elsewhere, perhaps while they still run there.",
  Fence: "Its pods are placed elsewhere once it has killed them.",
  Wait: "Its pods keep their hosts until it is connected again.",
};

/** What becomes of its pods while it is lost. */
export function policyWords(executor: Pick<Executor, "spec">): string {
  return POLICIES[termsOf(executor).policy];
}

/** Conditions besides `Connected` that say what is wrong. */
export function faultsOf(executor: Executor): Condition[] {
  return (executor.status?.conditions ?? []).filter(({ type, status }) => type !== "Connected" && status === "False");
}

/** Labels as a selector of the API. */
export function selectorText(labels: Record<string, string>): string {
  return Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(",");
}

export interface NodeState {
  words: "Ready" | "Not ready" | "Cordoned";
  tone: Tone;
}

/** Whether pods are placed on a node. */
export function nodeStateOf({ spec, status }: Pick<Node, "spec" | "status">): NodeState {
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  if (ready?.status !== "True") return { words: "Not ready", tone: "bad" };
  return spec.unschedulable ? { words: "Cordoned", tone: "hold" } : { words: "Ready", tone: "good" };
}

function conditionOf({ status }: Executor, type: string): Condition | undefined {
  return (status?.conditions ?? []).find((one) => one.type === type);
}
