// The hosts a pod set was given.
import type { PodSet, PodSetAssignment } from "@/lib/api/types";
import { domainsOf } from "@/lib/topology-assignment";

export interface Place {
  host: string;
  pods: number;
}

/** Hosts with their pods, in rank order; empty without a topology. */
export function placesOf(assignment: PodSetAssignment): Place[] {
  return domainsOf(assignment.topologyAssignment).map(({ values, count }) => ({ host: values.at(-1) ?? "", pods: count }));
}

interface PodTemplate {
  spec?: { containers?: { resources?: { requests?: Record<string, string | number> } }[] };
}

/** What each container of a pod asks for, resource by resource, as it was written. */
export function requestsOf(asked: PodSet): [string, string | number][] {
  const { spec } = asked.template as PodTemplate;
  return (spec?.containers ?? []).flatMap((container) => Object.entries(container.resources?.requests ?? {}));
}
