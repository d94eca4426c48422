// Preemption, placement and requeueing of a workload's status in words.
import type { Eviction, Phase, WorkloadObject } from "@/lib/api/types";
import { ruleWords } from "@/lib/format/rules";

const ELASTIC = "kueue.x-k8s.io/elastic-job";
const REPLACES = "kueue.x-k8s.io/workload-slice-replacement-for";

const ENDS: readonly Phase[] = ["Succeeded", "Failed", "Cancelled"];
const WAITS: readonly Phase[] = ["Pending", "Retrying", "OnHold", "Inactive"];

const SOURCES: Record<string, string> = {
  Spec: "(set in spec)",
  Label: "(set by label)",
  PodTemplates: "(set in pod template)",
  Legacy: "(from priority; cluster default)",
  Default: "(default)",
};

const LEAVES: Record<string, string> = {
  Preemptible: "Preemptible",
  NonPreemptible: "Non-preemptible",
  SemiPreemptible: "Semi-preemptible: pods above minCount can be preempted",
};

export interface SummaryRow {
  term: string;
  words: string;
  /** Another workload that is meant, as `namespace/name`. */
  workload?: string;
  /** The preemption round it is for. */
  round?: string;
  warns?: boolean;
}

/** The settings and states worth a row, the most important first; defaults are left out. */
export function statusSummaryOf(workload: WorkloadObject): SummaryRow[] {
  const isOver = ENDS.includes(workload.status?.phase ?? "Pending");
  const ahead = isOver ? [] : [...leaving(workload), ...preempting(workload)];
  return [...ahead, ...comingBack(workload), ...pods(workload)];
}

function leaving({ status, spec }: WorkloadObject): SummaryRow[] {
  const found: SummaryRow[] = [];
  for (const [number, { eviction, podSets }] of (status?.shrinking ?? []).entries()) {
    for (const { name, going, staying } of podSets) {
      const which = number === 0 ? `the last ${going} of ${name}` : `${going} more of ${name}`;
      found.push({ term: "Gives up pods", words: `${which} stop, ${staying} go on`, round: eviction.id, warns: true });
    }
  }
  const setting = status?.preemptibility;
  if (setting) {
    const words = LEAVES[String(setting.value)] ?? String(setting.value);
    found.push({ term: "Can be preempted", words: `${words} ${sourceWords(setting.source)}` });
  }
  const priority = status?.priority ?? 0;
  const protection = status?.preemptionPriority ?? priority;
  const boost = status?.priorityBoost ?? 0;
  if (boost !== 0) {
    const counts = priority === (spec.priority ?? 0) + boost ? "in the line and against preemption" : boost > 0 ? "against preemption, and in the line once it waits again" : "once it waits again";
    found.push({ term: "Boosted", words: `by ${boost}; that counts ${counts}` });
  }
  if (protection !== priority) {
    const by = spec.preemptionPriorityClassName ? ` by class ${spec.preemptionPriorityClassName}` : "";
    found.push({ term: "Protected as", words: `priority ${protection}${by}; it competes with ${priority}` });
  }
  const policy = spec.evictionPolicy;
  if (policy?.mode === "Soft") {
    const handler = policy.handler ? ` by ${policy.handler}` : "";
    const after = policy.onDeadline === "Wait" ? "then it is waited for" : "then it is killed";
    found.push({ term: "Leaves softly", words: `its work is saved first${handler}, for up to ${policy.gracePeriodSeconds} s; ${after}` });
  }
  return found;
}

function preempting({ status, spec }: WorkloadObject): SummaryRow[] {
  const found: SummaryRow[] = [];
  if (spec.preemptionPolicy === "Never") found.push({ term: "Can preempt others", words: "no (priority class)" });
  else if (status?.canPreempt?.value === false) {
    found.push({ term: "Can preempt others", words: `no ${sourceWords(status.canPreempt.source)}` });
  }
  for (const gate of status?.preemptionGates ?? []) {
    const isClosed = gate.position === "Closed";
    const words = isClosed ? "Closed: this workload can't preempt until the gate is opened" : "open";
    found.push({ term: `Gate ${gate.name}`, words, warns: isClosed && WAITS.includes(status?.phase ?? "Pending") });
  }
  return found;
}

function comingBack({ status }: WorkloadObject): SummaryRow[] {
  const found: SummaryRow[] = [];
  const count = status?.requeueState?.count ?? status?.requeuedCount ?? 0;
  if (count > 0) found.push({ term: "Sent back", words: `${times(count)} because its pods were not ready in time` });
  for (const { reason, underlyingCause, count: often } of status?.schedulingStats?.evictions ?? []) {
    found.push({ term: "Had to leave", words: `${times(often)}: ${reason}${underlyingCause ? ` (${ruleWords(underlyingCause)})` : ""}` });
  }
  return found;
}

function pods({ status, spec, metadata }: WorkloadObject): SummaryRow[] {
  const found: SummaryRow[] = [];
  const annotations = metadata.annotations ?? {};
  if (annotations[ELASTIC] === "true") found.push({ term: "Elastic", words: "it may grow and shrink while it runs" });
  const replaced = annotations[REPLACES];
  if (replaced) found.push({ term: "Grown from", words: status?.admission ? "it took over the pods of" : "once it starts it takes over the pods of", workload: replaced });
  for (const { name, count = 0 } of status?.admission?.podSetAssignments ?? []) {
    const asked = spec.podSets.find((each) => (each.name ?? "main") === name)?.count ?? 0;
    if (count < asked) found.push({ term: "Runs smaller", words: `with ${count} of the ${asked} pods of ${name}` });
  }
  for (const { name, count } of status?.reclaimablePods ?? []) {
    found.push({ term: "Done already", words: `${count} of the pods of ${name}; their quota is free again` });
  }
  return found;
}

/** Where a setting was read. */
export function sourceWords(source: string): string {
  return SOURCES[source] ?? `by ${source}`;
}

function times(count: number): string {
  return count === 1 ? "once" : `${count} times`;
}

export interface Step {
  words: string;
  at: string;
}

/** The steps of an eviction so far, oldest first. */
export function stepsOf(eviction: Eviction): Step[] {
  const handler = eviction.handler || "the executor";
  const told: [string, string | null | undefined][] = [
    [eviction.mode === "Soft" ? "Asked to leave, and to save its work first" : "Told to stop at once", eviction.startedAt],
    [`Taken over by ${handler}`, eviction.acknowledgedAt],
    [eviction.note || "Still at it", eviction.progressedAt],
    ["Time was up; it is waited for", eviction.stalledAt],
    ["Time was up; it is killed", eviction.forcedAt],
    ["Its pods are stopping", eviction.stoppingAt],
  ];
  return told.flatMap(([words, at]) => (at ? [{ words, at }] : []));
}

/** The next deadline of an eviction. */
export function nextOf(eviction: Eviction): Step | null {
  const isRunning = eviction.stage === "Requested" || eviction.stage === "Acknowledged";
  if (!eviction.deadlineAt || !isRunning) return null;
  const words = eviction.onDeadline === "Wait" ? "Time is up; it is waited for then" : "Time is up; it is killed then";
  return { words, at: eviction.deadlineAt };
}
