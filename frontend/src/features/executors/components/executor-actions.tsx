// Drains all nodes of an executor after a preview of what that does to each workload, and ends it.
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { ActionDialog } from "@/components/ui/action-dialog";
import { Button } from "@/components/ui/button";
import { quoted } from "@/lib/actions";
import { problemOf } from "@/lib/api/problem";
import { departureCounts, departureWords, worstFirst } from "@/lib/drain";
import { useIdentity } from "@/lib/hooks/use-session";
import { refusalFor } from "@/lib/permissions";

import { actOnExecutor, type ExecutorAction, executorDrainQuery } from "../api/executors";

const VERBS: Record<ExecutorAction, string> = { drain: "Drain", uncordon: "Uncordon" };

export interface ExecutorActionsProps {
  name: string;
  actions: readonly ExecutorAction[];
  /** Says the name beside the verb where several executors stand below each other. */
  inList?: boolean;
}

export function ExecutorActions({ name, actions, inList = false }: ExecutorActionsProps) {
  const role = refusalFor(useIdentity(), { on: "node" });
  const [asking, setAsking] = useState<ExecutorAction | null>(null);
  return (
    <>
      {actions.map((action) => (
        <Button key={action} refusal={role} aria-label={inList ? `${VERBS[action]} ${name}` : undefined} onClick={() => setAsking(action)}>
          {VERBS[action]}…
        </Button>
      ))}
      {asking === "drain" && <DrainDialog name={name} onClose={() => setAsking(null)} />}
      {asking === "uncordon" && (
        <ActionDialog
          verb="Uncordon"
          subject={`executor ${name}`}
          words="Marks all its nodes schedulable, which ends a drain."
          targets={[{ key: name }]}
          command={({ reason }) => commandOf("uncordon", name, reason)}
          run={(key, { reason }) => actOnExecutor("uncordon", key, reason)}
          onClose={() => setAsking(null)}
        />
      )}
    </>
  );
}

function DrainDialog({ name, onClose }: { name: string; onClose: () => void }) {
  const preview = useQuery(executorDrainQuery(name));
  const departures = worstFirst(preview.data?.workloads ?? []);
  const nodes = preview.data?.nodes.length;
  const failure = preview.isError ? problemOf(preview.error) : undefined;
  return (
    <ActionDialog
      verb="Drain"
      subject={`executor ${name}`}
      words={`Marks ${nodes === undefined ? "all its nodes" : nodes === 1 ? "its node" : `its ${nodes} nodes`} unschedulable and moves their pods. It ends with Uncordon.`}
      danger
      soon="begun"
      targets={[{ key: name, ...(failure?.status === 409 && { refusal: failure.detail }) }]}
      affected={{
        heading: preview.data ? departureCounts(departures) : failure ? "Affected workloads can't be calculated now" : "Calculating affected workloads…",
        names: departures.map(departureWords),
      }}
      command={({ reason }) => commandOf("drain", name, reason)}
      run={(key, { reason }) => actOnExecutor("drain", key, reason)}
      onClose={onClose}
    />
  );
}

function commandOf(action: ExecutorAction, name: string, reason: string): string {
  return `headgate ${action} executor/${quoted(name)} --reason ${quoted(reason || "…")}`;
}
