// The cells of tables of pods.
import { Ban, Check, CircleDashed, CircleHelp, Clock, type LucideIcon, Play, X } from "lucide-react";

import { Badge } from "@/components/ui/badge";
import { RouterLink } from "@/components/ui/router-link";
import type { Pod } from "@/lib/api/types";
import { formatDuration, secondsBetween } from "@/lib/format/times";
import { useNow } from "@/lib/hooks/use-now";

import { logAddress, podName, podTone } from "../model/pods";

const ICONS: Record<Pod["state"], LucideIcon> = {
  Assigned: Clock,
  Starting: CircleDashed,
  Running: Play,
  Succeeded: Check,
  Failed: X,
  Stopped: Ban,
  Lost: CircleHelp,
};

export function StateBadge({ state }: { state: Pod["state"] }) {
  return (
    <Badge tone={podTone(state)} icon={ICONS[state]}>
      {state}
    </Badge>
  );
}

export function NodeLink({ node }: { node: string | undefined }) {
  return !node ? <>—</> : <RouterLink to={`/topology?host=${encodeURIComponent(node)}`}>{node}</RouterLink>;
}

export function RunTime({ pod: { startedAt, finishedAt, state } }: { pod: Pod }) {
  const now = new Date(useNow()).toISOString();
  const end = finishedAt ?? (state === "Running" || state === "Starting" ? now : null);
  return <span className="number">{startedAt === null || end === null ? "—" : formatDuration(Math.max(0, secondsBetween(startedAt, end)))}</span>;
}

export function LogLink({ pod, workloadKey, attempt }: { pod: Pod; workloadKey: string; attempt: string }) {
  if (pod.startedAt === null) return <>—</>;
  return (
    <RouterLink to={logAddress(workloadKey, attempt, pod)} aria-label={`Open logs of ${podName(pod)}, run ${pod.run}`}>
      Open
    </RouterLink>
  );
}
