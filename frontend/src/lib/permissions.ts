// Which actions a role may take: said on the button beforehand, enforced by the server in any case.
import type { Identity } from "@/lib/api/types";
import { PAST_REFUSAL, shownMoment } from "@/lib/past";

/** What the action needs: workloads belong to a namespace, queues and nodes to the administrators. */
export type Need = { on: "workload"; namespace: string } | { on: "queue" } | { on: "node" };

/** Why this person may not do it, or undefined if they may. */
export function refusalFor(identity: Identity | undefined, need: Need): string | undefined {
  if (shownMoment() !== "") return PAST_REFUSAL;
  if (identity === undefined) return "Checking permissions…";
  if (identity.role === "admin") return undefined;
  if (need.on !== "workload") return `Needs the role admin; you are ${identity.role}.`;
  if (identity.role !== "submitter") return `Needs the role submitter or admin; you are ${identity.role}.`;
  const mine = identity.namespaces;
  if (mine.includes("*") || mine.includes(need.namespace)) return undefined;
  return `You may act in ${mine.join(", ")}, not in ${need.namespace}.`;
}
