// One host beside the map: its workloads, what is free, its use, its last cordon, and taking it out of service.
import { Ban, CircleAlert, CircleCheck } from "lucide-react";
import { useQuery } from "@tanstack/react-query";

import { Badge } from "@/components/ui/badge";
import { HostActions } from "@/components/ui/host-actions";
import { NodeUse } from "@/components/ui/node-use";
import { RouterLink } from "@/components/ui/router-link";
import { Timestamp } from "@/components/ui/timestamp";
import { SidePanel } from "@/components/ui/side-panel";
import { Empty } from "@/components/ui/states";
import { View } from "@/components/ui/view";
import { nodeAllocationQuery } from "@/lib/api/nodes";
import type { NodeAllocation, NodeWorkload } from "@/lib/api/types";
import { typeWords, workloadAddress } from "@/lib/events";
import { allocationWords, byAllocation, deviceWords, freeWords } from "@/lib/format/allocations";
import { byResource, shareOf, shortResource } from "@/lib/format/amounts";

import { closedQuery } from "../api/topology";
import { type Domain, nameOf } from "../model/columns";
import { resourceWords } from "../model/map";
import styles from "./host-panel.module.css";

export interface HostPanelProps {
  domain: Domain;
  /** The resource of the chart over time. */
  resource: string;
  onClose: () => void;
}

/** More workloads than these are on the page of the node. */
const SHOWN = 12;

export function HostPanel({ domain, resource, onClose }: HostPanelProps) {
  const name = nameOf(domain);
  const allocation = useQuery(nodeAllocationQuery(name));
  return (
    <SidePanel title={name} label={`Host ${name}`} onClose={onClose}>
      <View query={allocation} rows={6}>
        {(host) => (
          <>
            <div className={styles.row}>
              <HostState host={host} />
              <span className={styles.soft}>{domain.path.join(" / ")}</span>
              <span className={styles.soft}>{deviceWords(host)}</span>
            </div>
            <Workloads host={host} />
            <p>{freeWords(host)}</p>
            <ul className={styles.resources}>
              {Object.keys(host.allocatable).sort(byResource).map((one) => (
                <Resource key={one} host={host} resource={one} />
              ))}
            </ul>
            <NodeUse name={name} resource={resource} />
            {host.taints.length > 0 && (
              <p className={styles.soft}>
                Taints:{" "}
                <span className="mono">{host.taints.map((taint) => `${taint.key}${taint.value ? `=${taint.value}` : ""}:${taint.effect}`).join(", ")}</span>
              </p>
            )}
            <LastClosed name={name} isCordoned={host.cordoned} />
            <div className={styles.row}>
              <HostActions name={name} isCordoned={host.cordoned} />
              <RouterLink to={`/events?stream=${encodeURIComponent(`node/${name}`)}`}>Events of this host</RouterLink>
              <RouterLink to={`/nodes/${encodeURIComponent(name)}`}>Open node</RouterLink>
            </div>
          </>
        )}
      </View>
    </SidePanel>
  );
}

function Workloads({ host: { node, workloads } }: { host: NodeAllocation }) {
  if (workloads.length === 0) return <Empty title="No workloads on this host" />;
  return (
    <ul className={styles.workloads} aria-label="Workloads on this host">
      {[...workloads].sort(byAllocation).slice(0, SHOWN).map((workload) => (
        <Workload key={workload.key} workload={workload} />
      ))}
      {workloads.length > SHOWN && (
        <li>
          <RouterLink to={`/nodes/${encodeURIComponent(node)}`}>{workloads.length - SHOWN} more</RouterLink>
        </li>
      )}
    </ul>
  );
}

function Workload({ workload }: { workload: NodeWorkload }) {
  const { key } = workload;
  return (
    <li>
      {key.includes("/") ? <RouterLink to={workloadAddress(key)}>{key}</RouterLink> : <span>{key}</span>}
      <span className={styles.soft}>{allocationWords(workload)}</span>
    </li>
  );
}

/** The last cordon or drain of the host, with its actor and reason, from the log. */
function LastClosed({ name, isCordoned }: { name: string; isCordoned: boolean }) {
  const { data } = useQuery(closedQuery(name));
  const [fact] = data?.items ?? [];
  if (fact === undefined) return null;
  const actor = fact.actor.replace(/^user:/, "");
  if (isCordoned) {
    return (
      <p className={styles.soft}>
        {typeWords(fact.type)} <Timestamp at={fact.at} /> by {actor}
        {fact.reason && <>: {fact.reason}</>}
      </p>
    );
  }
  return (
    <p className={styles.soft}>
      {fact.type === "node.cordoned" ? "Cordoned" : "Drained"} last: <Timestamp at={fact.at} />, {[actor, fact.reason].filter(Boolean).join(", ")}
    </p>
  );
}

function HostState({ host }: { host: Pick<NodeAllocation, "ready" | "cordoned"> }) {
  if (host.cordoned) {
    return (
      <Badge tone="hold" icon={Ban}>
        Cordoned
      </Badge>
    );
  }
  return host.ready ? (
    <Badge tone="good" icon={CircleCheck}>
      Ready
    </Badge>
  ) : (
    <Badge tone="bad" icon={CircleAlert}>
      Not ready
    </Badge>
  );
}

function Resource({ host, resource }: { host: NodeAllocation; resource: string }) {
  const whole = host.allocatable[resource] ?? 0;
  const words = resourceWords(host, resource);
  return (
    <li>
      <span className={styles.resource}>{shortResource(resource)}</span>
      <span className={styles.meter} role="img" aria-label={words}>
        <span className={styles.used} style={{ width: `${shareOf(host.used[resource] ?? 0, whole) * 100}%` }} />
        <span className={styles.others} style={{ width: `${shareOf(host.others[resource] ?? 0, whole) * 100}%` }} />
      </span>
      <span className={styles.words}>{words}</span>
    </li>
  );
}
