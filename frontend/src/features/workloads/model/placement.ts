// The hosts a pod set was given; topology assignments are free-form in the API's description.
import type { PodSet, PodSetAssignment } from "@/lib/api/types";

export interface Place {
  host: string;
  pods: number;
}

interface Domain {
  values?: string[];
  count?: number;
}

/** Hosts with their pods, in rank order; empty without a topology. */
export function placesOf(assignment: PodSetAssignment): Place[] {
  const domains = (assignment.topologyAssignment?.["domains"] ?? []) as Domain[];
  return domains.map(({ values = [], count = 0 }) => ({ host: values.at(-1) ?? "", pods: count }));
}

interface PodTemplate {
  spec?: { containers?: { resources?: { requests?: Record<string, string | number> } }[] };
}

/** What each container of a pod asks for, resource by resource, as it was written. */
export function requestsOf(asked: PodSet): [string, string | number][] {
  const { spec } = asked.template as PodTemplate;
  return (spec?.containers ?? []).flatMap((container) => Object.entries(container.resources?.requests ?? {}));
}
