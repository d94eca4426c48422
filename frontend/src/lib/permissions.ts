// Which actions the roles of a user allow: said on the button beforehand, enforced by the server in any case.
import type { Identity } from "@/lib/api/types";
import { PAST_REFUSAL, shownMoment } from "@/lib/past";

/** What the action needs: workloads belong to a namespace, a queue may have its administrator, the rest is the admins'. */
export type Need = { on: "workload"; namespace: string } | { on: "queue"; clusterQueue?: string; namespace?: string } | { on: "node" } | { on: "installation" } | { on: "cause" };

type Grant = NonNullable<Identity["grants"]>[number];

/** Why this user may not do it, or undefined if they may. */
export function refusalFor(identity: Identity | undefined, need: Need): string | undefined {
  if (shownMoment() !== "") return PAST_REFUSAL;
  if (identity === undefined) return "Checking permissions…";
  const grants = identity.grants ?? [];
  if (grants.some((grant) => allows(grant, need))) return undefined;
  const roles = grants.map((grant) => grant.role).join(", ");
  if (need.on === "cause") return `Needs the role admin or queue-admin; you are ${roles}.`;
  if (need.on === "queue" && need.clusterQueue !== undefined) return `Needs the role admin, or queue-admin of ${need.clusterQueue}; you are ${roles}.`;
  if (need.on !== "workload") return `Needs the role admin; you are ${roles}.`;
  const mine = grants.filter(isOfNamespaces).flatMap((grant) => grant.namespaces ?? []);
  if (mine.length === 0) return `Needs the role submitter or admin; you are ${roles}.`;
  return `You may act in ${mine.join(", ")}, not in ${need.namespace}.`;
}

/** Whether the user has the role of an administrator of the installation. */
export function isAdmin(identity: Identity | undefined): boolean {
  return (identity?.grants ?? []).some((grant) => grant.role === "admin");
}

function allows(grant: Grant, need: Need): boolean {
  if (grant.role === "admin") return true;
  if (need.on === "queue") {
    if (grant.role === "queue-admin") return need.clusterQueue !== undefined && (grant.clusterQueues ?? []).includes(need.clusterQueue);
    return grant.role === "namespace-admin" && need.namespace !== undefined && (grant.namespaces ?? []).includes(need.namespace);
  }
  if (need.on === "node" || need.on === "installation") return false;
  if (need.on === "cause") return grant.role === "queue-admin";
  // A queue administrator acts on the workloads of its ClusterQueues; the server knows which these are.
  return grant.role === "queue-admin" || (isOfNamespaces(grant) && (grant.namespaces ?? []).includes(need.namespace));
}

function isOfNamespaces({ role }: Grant): boolean {
  return role === "submitter" || role === "namespace-admin";
}
