// Which parts of the screen an event can have changed; the first element of every query's key is such a topic.

/** The topics of everything the interface reads. */
export const TOPICS = [
  "alerts",
  "webhooks",
  "capacity",
  "overview",
  "queues",
  "queue",
  "pending",
  "workloads",
  "workload",
  "topology",
  "preemptions",
  "events",
  "objects",
  "cycles",
  "history",
  "predictions",
] as const;

export type Topic = (typeof TOPICS)[number];

const PLACE_CHANGING = new Set([
  "workload.quota_reserved",
  "workload.reservation_dropped",
  "workload.stopped",
  "workload.finished",
  "workload.deleted",
  "workload.evicted",
  "workload.pods_evicted",
  "workload.shrunk",
]);

// The progress of a victim shows on the page of its round.
const LEAVING = new Set([
  "workload.eviction_acknowledged",
  "workload.eviction_progressed",
  "workload.eviction_extended",
  "workload.eviction_forced",
  "workload.eviction_stalled",
  "workload.eviction_cancelled",
  "workload.stopping",
]);

const OF_OBJECTS: Record<string, Topic[]> = {
  cluster_queue: ["queues", "queue", "pending", "overview", "objects", "workloads"],
  local_queue: ["queues", "queue", "pending", "overview", "objects", "workloads"],
  cohort: ["queues", "queue", "overview", "objects"],
  node: ["topology", "overview", "objects"],
  topology: ["topology", "objects"],
  resource_flavor: ["topology", "queues", "objects"],
  executor: ["topology", "overview", "objects"],
  webhook: ["webhooks", "objects"],
  acknowledgment: ["alerts"],
  round: ["preemptions", "overview", "pending", "workloads"],
  prediction: ["predictions", "alerts"],
};

/** What to read again after an event of this type in this stream. One workload's pages are named by its key. */
export function topicsOf(type: string, stream: string): string[] {
  const kind = type.slice(0, type.indexOf("."));
  if (kind === "round") return ["events", "cycles", ...(OF_OBJECTS[kind] ?? [])];
  if (kind !== "workload") return ["events", "history", ...(OF_OBJECTS[kind] ?? ["objects"])];
  const key = stream.slice(stream.indexOf("/") + 1);
  const topics = ["events", "overview", "workloads", "queues", "queue", "pending", `workload/${key}`];
  if (LEAVING.has(type)) return [...topics, "preemptions"];
  return PLACE_CHANGING.has(type) ? [...topics, "topology", "cycles"] : topics;
}

/** Whether a query under this key shows one of the topics. */
export function isTouched(queryKey: readonly unknown[], topics: ReadonlySet<string>): boolean {
  const [topic, key] = queryKey;
  if (typeof topic !== "string") return false;
  return topics.has(topic) || (topic === "workload" && topics.has(`workload/${String(key)}`));
}
