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
    for (const { name, going, staying, indices } of podSets) {
      const count = number === 0 ? `${going} of ${name}` : `${going} more of ${name}`;
      const which = indices ? `${count} (indices ${indices})` : count;
      found.push({ term: "Scaling down", words: `${which} stop, ${staying} keep running`, round: eviction.id, warns: true });
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
    const counts = priority === (spec.priority ?? 0) + boost ? "in queue order and in preemption" : boost > 0 ? "in preemption, and in queue order once pending again" : "once pending again";
    found.push({ term: "Boosted", words: `by ${boost}, effective ${counts}` });
  }
  if (protection !== priority) {
    const by = spec.preemptionPriorityClassName ? ` by class ${spec.preemptionPriorityClassName}` : "";
    found.push({ term: "Preemption priority", words: `${protection}${by}; queue priority ${priority}` });
  }
  const policy = spec.evictionPolicy;
  if (policy?.mode === "Soft") {
    const handler = policy.handler ? ` by ${policy.handler}` : "";
    const after = policy.onDeadline === "Wait" ? "then waits for its pods" : "then kills its pods";
    found.push({ term: "Soft eviction", words: `checkpoint${handler} within ${policy.gracePeriodSeconds} s; ${after}` });
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
  if (count > 0) found.push({ term: "Requeued", words: `${times(count)} because pods were not ready in time` });
  for (const { reason, underlyingCause, count: often } of status?.schedulingStats?.evictions ?? []) {
    found.push({ term: "Evicted", words: `${times(often)}: ${reason}${underlyingCause ? `, ${ruleWords(underlyingCause)}` : ""}` });
  }
  return found;
}

function pods({ status, spec, metadata }: WorkloadObject): SummaryRow[] {
  const found: SummaryRow[] = [];
  const annotations = metadata.annotations ?? {};
  if (annotations[ELASTIC] === "true") found.push({ term: "Elastic", words: "can scale while running" });
  const replaced = annotations[REPLACES];
  if (replaced) found.push({ term: "Replaces workload slice", words: status?.admission ? "has the pods of" : "takes over the pods when it starts:", workload: replaced });
  for (const { name, count = 0 } of status?.admission?.podSetAssignments ?? []) {
    const asked = spec.podSets.find((each) => (each.name ?? "main") === name)?.count ?? 0;
    if (count < asked) found.push({ term: "Partially admitted", words: `${count} of ${asked} pods of ${name}` });
  }
  for (const { name, count } of status?.reclaimablePods ?? []) {
    found.push({ term: "Completed pods", words: `${count} of ${name} (quota released)` });
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
    [eviction.mode === "Soft" ? "Eviction requested (soft)" : "Eviction requested (immediate)", eviction.startedAt],
    [`Acknowledged by ${handler}`, eviction.acknowledgedAt],
    [eviction.note || "In progress", eviction.progressedAt],
    ["Deadline passed; waiting", eviction.stalledAt],
    ["Deadline passed; killing pods", eviction.forcedAt],
    ["Stopping pods", eviction.stoppingAt],
  ];
  return told.flatMap(([words, at]) => (at ? [{ words, at }] : []));
}

/** The next deadline of an eviction. */
export function nextOf(eviction: Eviction): Step | null {
  const isRunning = eviction.stage === "Requested" || eviction.stage === "Acknowledged";
  if (!eviction.deadlineAt || !isRunning) return null;
  const words = eviction.onDeadline === "Wait" ? "Deadline (waits for its pods)" : "Deadline (kills its pods)";
  return { words, at: eviction.deadlineAt };
}
