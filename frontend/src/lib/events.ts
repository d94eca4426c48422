// Events of the log in words: title, tone, and link to their subject.
import type { Fact } from "@/lib/api/types";

export type FactTone = "wait" | "move" | "run" | "good" | "bad" | "hold" | "idle";

const TONES: Record<string, FactTone> = {
  "workload.admitted": "run",
  "workload.pods_ready": "run",
  "workload.pods_reclaimed": "good",
  "workload.quota_reserved": "move",
  "workload.checks_required": "move",
  "workload.check_reported": "move",
  "workload.placement_nominated": "move",
  "workload.explained": "wait",
  "workload.requeued": "wait",
  "workload.evicted": "bad",
  "workload.pods_evicted": "bad",
  "workload.shrunk": "move",
  "workload.pods_not_ready": "bad",
  "workload.pods_gone": "bad",
  "workload.hosts_failed": "bad",
  "workload.hosts_recovered": "good",
  "workload.placed": "move",
  "workload.scaled_down": "move",
  "workload.held": "hold",
  "workload.deactivated": "idle",
  "cluster_queue.stopped": "hold",
  "local_queue.stopped": "hold",
  "node.cordoned": "hold",
  "node.drain_started": "hold",
  "node.fell_silent": "bad",
  "round.committed": "wait",
  "round.completed": "good",
  "round.expired": "bad",
  "log.rewound": "bad",
  "log.snapshot_discarded": "bad",
};

/** How a workload ended, or that it can never start: the reason in the event says it, not its type. */
const OUTCOMES: Record<string, { words: string; tone: FactTone }> = {
  Succeeded: { words: "Succeeded", tone: "good" },
  Failed: { words: "Failed", tone: "bad" },
  FailedToStart: { words: "Failed to start", tone: "bad" },
  Cancelled: { words: "Cancelled", tone: "idle" },
  WorkloadSliceReplaced: { words: "Replaced by slice", tone: "idle" },
  Unschedulable: { words: "Unschedulable", tone: "bad" },
};

function outcomeOf({ type, data }: Pick<Fact, "type" | "data">) {
  if (type === "workload.finished") return OUTCOMES[textOf(data["reason"])];
  const explanation = data["explanation"] as { dominant?: unknown } | undefined;
  return type === "workload.explained" && explanation?.dominant === "Unschedulable" ? OUTCOMES["Unschedulable"] : undefined;
}

/** The tone of an event. */
export function factTone(fact: Pick<Fact, "type" | "data">): FactTone {
  return outcomeOf(fact)?.tone ?? TONES[fact.type] ?? "idle";
}

/** The event in words: the outcome where it has one, else its type. */
export function factWords(fact: Pick<Fact, "type" | "data">): string {
  return outcomeOf(fact)?.words ?? typeWords(fact.type);
}

const TYPES: Record<string, string> = {
  "workload.explained": "Pending reason updated",
  "workload.nomination_withdrawn": "Nomination cancelled",
  "workload.eviction_progressed": "Checkpoint progress",
  "round.committed": "Preemption started",
  "round.victim_released": "Victim stopped",
  "round.satisfied": "All victims stopped",
  "round.placement_invalidated": "Placement lost",
};

/** The type as words: `workload.quota_reserved` is "Quota reserved", `node.cordoned` "Node cordoned". */
export function typeWords(type: string): string {
  const known = TYPES[type];
  if (known !== undefined) return known;
  const name = type.replace(/^workload\./, "").replace(".", " ").replaceAll("_", " ");
  return name.charAt(0).toUpperCase() + name.slice(1);
}

/** What the event says beyond its type, from the fields people ask for first. */
export function factDetail(fact: Pick<Fact, "type" | "data">): string {
  const { data } = fact;
  const explanation = data["explanation"] as { sentence?: string } | undefined;
  if (explanation?.sentence) return explanation.sentence;
  const admission = data["admission"] as { clusterQueue?: string; cluster_queue?: string } | undefined;
  if (admission) return `ClusterQueue ${admission.clusterQueue ?? admission.cluster_queue ?? "unknown"}`;
  const stop = data["stop"] as { reason?: string } | undefined;
  return textOf(data["message"]) || textOf(stop?.reason) || textOf(data["cause"]) || textOf(data["reason"]);
}

function textOf(value: unknown): string {
  if (typeof value === "object" && value !== null && "text" in value) return textOf(value.text);
  return typeof value === "string" ? value : "";
}

/** The page of one configured object, named as `name` or `namespace/name`, or of all of a kind without a name. */
export function configurationAddress(kind: string, key = "", tab = ""): string {
  const path = [kind, ...(key === "" ? [] : key.split("/"))].map(encodeURIComponent).join("/");
  return `/configuration/${path}${tab === "" ? "" : `?tab=${tab}`}`;
}

/** The page that shows the changes of one configured object. */
export function changesAddress(stream: string): string {
  const cut = stream.indexOf("/");
  return configurationAddress(stream.slice(0, cut), stream.slice(cut + 1), "history");
}

/** The page that shows a stream's object; empty where there is none. */
export function addressOfStream(stream: string): string {
  const [kind = "", ...rest] = stream.split("/");
  const name = rest.join("/");
  switch (kind) {
    case "workload":
      return workloadAddress(name);
    case "clusterqueue":
      return `/queues/${encodeURIComponent(name)}`;
    case "cohort":
      return "/queues";
    case "node":
      return `/topology?host=${encodeURIComponent(name)}`;
    case "round":
      return `/preemptions/${encodeURIComponent(name)}`;
    default:
      return "";
  }
}

/** The page of one workload, from `namespace/name`. */
export function workloadAddress(key: string): string {
  const [namespace = "", name = ""] = key.split("/");
  return `/workloads/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`;
}

/** The name in a stream, as people know the object. */
export function subjectOf(stream: string): string {
  // A preemption has an ID and no name.
  return stream.startsWith("round/") ? "Preemption" : stream.slice(stream.indexOf("/") + 1);
}
