// Simulating and applying an edit of a workload or of its queue.
import { queryOptions } from "@tanstack/react-query";

import { api, contentOf, writtenOf } from "@/lib/api/request";
import type { Simulation, SpecEdit, WorkloadObject } from "@/lib/api/types";
import { Slots } from "@/lib/slots";

import { edited } from "../model/edits";

/** A simulation is work for the server: the others wait for these. */
const simulations = new Slots(3);

/** The manifest that the edit changes: the workload's as submitted, or the queue's. */
export async function manifestFor(edit: SpecEdit, workload: WorkloadObject, signal?: AbortSignal): Promise<unknown> {
  if (edit.kind === "Workload") {
    const { apiVersion, kind, metadata, spec } = workload;
    const { name, namespace, labels, annotations } = metadata;
    return { apiVersion, kind, metadata: { name, namespace, ...(labels && { labels }), ...(annotations && { annotations }) }, spec };
  }
  const found = await contentOf(api.GET("/v1/clusterqueues/{name}", { params: { path: { name: edit.name } }, signal }));
  const { apiVersion, kind, metadata, spec } = found;
  return { apiVersion, kind, metadata: { name: metadata.name }, spec };
}

/** What would happen with the edit; nothing is written. */
export function editSimulationQuery(edit: SpecEdit, workload: WorkloadObject) {
  return queryOptions({
    // An edit of other figures is another one; that the workload has moved on meanwhile makes none.
    queryKey: ["edit", edit.name, edit.code, JSON.stringify(edit.patch), workload.metadata.uid],
    queryFn: ({ signal }): Promise<{ manifest: unknown; simulation: Simulation }> =>
      simulations.run(async () => {
        const manifest = await manifestFor(edit, workload, signal);
        const body = edited(manifest, edit) as never;
        return { manifest, simulation: await contentOf(api.POST("/v1/simulations", { body, signal })) };
      }, signal),
    staleTime: Infinity,
  });
}

/** Makes the edit. */
export async function applyEdit(edit: SpecEdit, workload: WorkloadObject): Promise<void> {
  const body = edited(await manifestFor(edit, workload), edit) as never;
  const { results } = await writtenOf(api.POST("/v1/apply", { body }));
  const refused = results.find(({ outcome }) => outcome === "rejected");
  if (refused) throw new Error(refused.problem?.detail ?? "The edit was refused");
}
