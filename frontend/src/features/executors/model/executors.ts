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
  words: "Ready" | "Not ready" | "Cordoned" | "Draining";
  tone: Tone;
}

/** Whether pods are placed on a node. */
export function nodeStateOf({ spec, status }: Pick<Node, "spec" | "status">): NodeState {
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  if (ready?.status !== "True") return { words: "Not ready", tone: "bad" };
  if (spec.draining) return { words: "Draining", tone: "hold" };
  return spec.unschedulable ? { words: "Cordoned", tone: "hold" } : { words: "Ready", tone: "good" };
}

export interface DrainState {
  /** Of all nodes. */
  draining: number;
  closed: number;
  nodes: number;
}

/** How many of the nodes are drained, and how many take no new pods. */
export function drainStateOf(nodes: Pick<Node, "spec">[]): DrainState {
  return {
    draining: nodes.filter(({ spec }) => spec.draining === true).length,
    closed: nodes.filter(({ spec }) => spec.unschedulable === true).length,
    nodes: nodes.length,
  };
}

/** What can be done to all nodes; nodes that are not selected by labels are counted and not known. */
export function actionsOn({ draining, closed, nodes }: DrainState, registered: number): ("drain" | "uncordon")[] {
  if (nodes === 0) return registered === 0 ? [] : ["uncordon", "drain"];
  return [...(closed > 0 ? (["uncordon"] as const) : []), ...(draining < nodes ? (["drain"] as const) : [])];
}

/** How far a drain is; empty where no node is drained. */
export function drainProgress({ draining, nodes }: DrainState, runningPods: number): string {
  if (draining === 0) return "";
  const left = runningPods === 0 ? "no pods left" : `${runningPods} ${runningPods === 1 ? "pod" : "pods"} running`;
  return `Draining ${draining === nodes ? "all" : `${draining} of ${nodes}`} nodes, ${left}`;
}

function conditionOf({ status }: Executor, type: string): Condition | undefined {
  return (status?.conditions ?? []).find((one) => one.type === type);
}
