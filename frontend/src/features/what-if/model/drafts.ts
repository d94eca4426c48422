// The document to simulate, made from a form or from an existing workload.
import { stringify } from "yaml";

import type { WorkloadObject } from "@/lib/api/types";

export interface Draft {
  name: string;
  /** The LocalQueue, as namespace/name. */
  door: string;
  pods: string;
  cpu: string;
  memory: string;
  gpu: string;
  priority: string;
  /** The topology level all pods must stay together in; empty for anywhere. */
  level: string;
}

export const FIRST_DRAFT: Draft = { name: "what-if", door: "", pods: "1", cpu: "1", memory: "1Gi", gpu: "", priority: "", level: "" };

const GPU = "nvidia.com/gpu";
const API_VERSION = "kueue.x-k8s.io/v1beta2";

/** The manifest of a workload of one pod set. */
export function documentOf(draft: Draft): string {
  const requests: Record<string, string> = {};
  if (draft.cpu.trim() !== "") requests["cpu"] = draft.cpu.trim();
  if (draft.memory.trim() !== "") requests["memory"] = draft.memory.trim();
  if (draft.gpu.trim() !== "") requests[GPU] = draft.gpu.trim();
  const containers = [{ name: "main", resources: { requests } }];
  const [namespace = "", queueName = ""] = draft.door.split("/");
  const together = draft.level === "" ? {} : { topologyRequest: { required: draft.level } };
  const spec: Record<string, unknown> = {
    queueName,
    podSets: [{ name: "main", count: Number(draft.pods) || 1, ...together, template: { spec: { containers } } }],
  };
  if (draft.priority.trim() !== "") spec["priority"] = Number(draft.priority);
  const metadata = { name: draft.name.trim(), namespace: namespace || "default" };
  return stringify({ apiVersion: API_VERSION, kind: "Workload", metadata, spec });
}

/** A copy of the workload under another name, to be edited. */
export function duplicateOf(workload: WorkloadObject, suffix = "-again"): string {
  const { apiVersion, kind, metadata, spec } = workload;
  const { name, namespace, labels } = metadata;
  return stringify({ apiVersion, kind, metadata: { name: `${name}${suffix}`, namespace, ...(labels && { labels }) }, spec });
}
