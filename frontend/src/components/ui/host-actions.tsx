// Taking a host out of use, moving its pods away after a preview, and taking it back.
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";

import { quoted } from "@/lib/actions";
import { type HostAction, actOnHost, drainPreviewQuery } from "@/lib/api/nodes";
import { drainWords } from "@/lib/drain";
import { useIdentity } from "@/lib/hooks/use-session";
import { refusalFor } from "@/lib/permissions";

import { ActionDialog } from "./action-dialog";
import { Button } from "./button";

const VERBS: Record<HostAction, string> = { cordon: "Cordon", drain: "Drain", uncordon: "Uncordon" };
const WORDS: Record<Exclude<HostAction, "drain">, string> = {
  cordon: "Marks the host unschedulable. Running pods continue.",
  uncordon: "Marks the host schedulable.",
};

export function HostActions({ name, isCordoned }: { name: string; isCordoned: boolean }) {
  const role = refusalFor(useIdentity(), { on: "node" });
  const [asking, setAsking] = useState<HostAction | null>(null);
  const offered: HostAction[] = isCordoned ? ["uncordon", "drain"] : ["cordon", "drain"];
  return (
    <>
      {offered.map((action) => (
        <Button key={action} refusal={role} onClick={() => setAsking(action)}>
          {VERBS[action]}
        </Button>
      ))}
      {asking !== null && <HostDialog name={name} action={asking} onClose={() => setAsking(null)} />}
    </>
  );
}

export interface SelectedHostsProps {
  names: readonly string[];
  onDone: () => void;
}

/** Cordons all hosts that are selected, each with its own result. */
export function CordonSelected({ names, onDone }: SelectedHostsProps) {
  const role = refusalFor(useIdentity(), { on: "node" });
  const [isAsking, setIsAsking] = useState(false);
  return (
    <>
      <Button refusal={role ?? (names.length === 0 ? "Select hosts on the map with x or Ctrl and a click" : undefined)} onClick={() => setIsAsking(true)}>
        {VERBS.cordon} {names.length}
      </Button>
      {names.length > 0 && (
        <Button look="quiet" onClick={onDone}>
          Clear selection
        </Button>
      )}
      {isAsking && (
        <ActionDialog
          verb={VERBS.cordon}
          subject={names.length === 1 ? (names[0] ?? "") : `${names.length} hosts`}
          words="Marks the hosts unschedulable. Running pods continue."
          targets={names.map((key) => ({ key }))}
          command={({ reason }) => names.map((name) => `headgate cordon ${quoted(name)} --reason ${quoted(reason || "…")}`).join("\n")}
          run={(key, { reason }) => actOnHost("cordon", key, reason)}
          onClose={() => setIsAsking(false)}
        />
      )}
    </>
  );
}

function HostDialog({ name, action, onClose }: { name: string; action: HostAction; onClose: () => void }) {
  const preview = useQuery({ ...drainPreviewQuery(name), enabled: action === "drain" });
  const looking = preview.isError ? "Affected workloads can't be calculated now." : "Calculating affected workloads…";
  const words = action === "drain" ? (preview.data ? drainWords(preview.data.workloads) : looking) : WORDS[action];
  return (
    <ActionDialog
      verb={VERBS[action]}
      subject={name}
      words={words}
      danger={action === "drain"}
      soon={action === "drain" ? "begun" : "done"}
      targets={[{ key: name }]}
      command={({ reason }) => `headgate ${action} ${action === "drain" ? "node/" : ""}${quoted(name)} --reason ${quoted(reason || "…")}`}
      run={(key, { reason }) => actOnHost(action, key, reason)}
      onClose={onClose}
    />
  );
}
