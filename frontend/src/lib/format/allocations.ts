// What of a host is allocated, in words.
import type { NodeAllocation, NodeWorkload } from "@/lib/api/types";

import { byResource, formatAmount, formatAmountOf, shortResource } from "./amounts";
import { formatShortTime } from "./times";

/** Pods are counted beside resources, not as one. */
const PODS = "pods";

/** What a workload takes of a host: its GPUs or other devices, else its CPU, else its pods. */
export function amountWords({ requests, pods }: Pick<NodeWorkload, "requests" | "pods">): string {
  const [resource] = Object.keys(requests)
    .filter((name) => name !== PODS && name !== "memory" && (requests[name] ?? 0) > 0)
    .sort(byResource);
  if (resource !== undefined) return formatAmountOf(resource, requests[resource] ?? 0);
  return `${pods} ${pods === 1 ? "pod" : "pods"}`;
}

/** When a workload ends at the latest: "until 15:10"; empty where nothing is known. */
export function untilWords({ endsAt }: Pick<NodeWorkload, "endsAt">, now?: Date): string {
  return endsAt ? `until ${formatShortTime(endsAt, now)}` : "";
}

/** "4 GPU, vision, until 15:10"; of other teams' workloads the amount alone. */
export function allocationWords(workload: NodeWorkload, now?: Date): string {
  return [amountWords(workload), workload.clusterQueue, untilWords(workload, now)].filter(Boolean).join(", ");
}

/** What is free of a host, "Free: 2 GPU, 26 CPU, 208 GiB", or why nothing is. */
export function freeWords({ free, allocatable, ready, cordoned }: Pick<NodeAllocation, "free" | "allocatable" | "ready" | "cordoned">): string {
  if (cordoned || !ready) return `Nothing free while it is ${cordoned ? "cordoned" : "not ready"}`;
  const offered = Object.keys(allocatable).filter((name) => name !== PODS).sort(byResource);
  if (offered.length === 0) return "";
  const amount = (name: string) => formatAmount(name, free[name] ?? 0);
  return `Free: ${offered.map((name) => (name === "memory" ? amount(name) : `${amount(name)} ${shortResource(name)}`)).join(", ")}`;
}

/** The models of a host's devices and their errors, "NVIDIA H100, 0 device errors"; empty where nothing is known of them. */
export function deviceWords({ models, deviceErrors }: Pick<NodeAllocation, "models" | "deviceErrors">): string {
  const errors = deviceErrors === null ? "" : `${deviceErrors.toLocaleString("en")} device ${deviceErrors === 1 ? "error" : "errors"}`;
  return [...models, errors].filter(Boolean).join(", ");
}

/** Workloads by what they take of a host, the most first. */
export function byAllocation(one: NodeWorkload, other: NodeWorkload): number {
  const devices = ({ requests }: NodeWorkload) => Object.entries(requests).reduce((sum, [name, amount]) => sum + (name.includes("/") ? amount : 0), 0);
  return devices(other) - devices(one) || (other.requests["cpu"] ?? 0) - (one.requests["cpu"] ?? 0) || one.key.localeCompare(other.key, "en", { numeric: true });
}
