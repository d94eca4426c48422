// One host beside the map: its resources, its workloads, and taking it out of service.
import { Ban, CircleAlert, CircleCheck } from "lucide-react";
import { useQuery } from "@tanstack/react-query";

import { Badge } from "@/components/ui/badge";
import { HostActions } from "@/components/ui/host-actions";
import { NodeUse } from "@/components/ui/node-use";
import { RouterLink } from "@/components/ui/router-link";
import { Timestamp } from "@/components/ui/timestamp";
import { SidePanel } from "@/components/ui/side-panel";
import { Empty } from "@/components/ui/states";
import type { Host, TopologyDomain } from "@/lib/api/types";
import { typeWords, workloadAddress } from "@/lib/events";
import { byResource, shareOf, shortResource } from "@/lib/format/amounts";

import { closedQuery } from "../api/topology";
import { hostWorkloadWords, resourceWords } from "../model/map";
import styles from "./host-panel.module.css";

export interface HostPanelProps {
  domain: TopologyDomain;
  /** The resource of the chart over time. */
  resource: string;
  onClose: () => void;
}

export function HostPanel({ domain, resource: shown, onClose }: HostPanelProps) {
  const { host } = domain;
  if (!host) return null;
  return (
    <SidePanel title={host.name} label={`Host ${host.name}`} onClose={onClose}>
      <div className={styles.row}>
        <HostState host={host} />
        <span className={styles.soft}>{domain.path.join(" / ")}</span>
        <RouterLink to={`/events?stream=${encodeURIComponent(`node/${host.name}`)}`}>Events of this host</RouterLink>
        <RouterLink to={`/nodes/${encodeURIComponent(host.name)}`}>Open node</RouterLink>
      </div>
      {host.cordoned && <WhoClosedIt name={host.name} />}
      <div className={styles.row}>
        <HostActions name={host.name} isCordoned={host.cordoned} />
      </div>
      <ul className={styles.resources}>
        {Object.keys(domain.allocatable).sort(byResource).map((resource) => (
          <Resource key={resource} domain={domain} resource={resource} />
        ))}
      </ul>
      <NodeUse name={host.name} resource={shown} />
      {host.taints.length > 0 && (
        <p className={styles.soft}>
          Taints:{" "}
          <span className="mono">{host.taints.map((taint) => `${taint.key}${taint.value ? `=${taint.value}` : ""}:${taint.effect}`).join(", ")}</span>
        </p>
      )}
      <h3>Workloads on this host</h3>
      {host.workloads.length === 0 ? (
        <Empty title="No workloads on this host" />
      ) : (
        <ul className={styles.workloads}>
          {host.workloads.map((workload) => (
            <li key={workload.key}>
              {workload.key.includes("/") ? <RouterLink to={workloadAddress(workload.key)}>{workload.key}</RouterLink> : <span>{workload.key}</span>}
              <span className={styles.soft}>
{hostWorkloadWords(workload)}
              </span>
            </li>
          ))}
        </ul>
      )}
    </SidePanel>
  );
}

/** The user who took it out of service, with the reason, from the log. */
function WhoClosedIt({ name }: { name: string }) {
  const { data } = useQuery(closedQuery(name));
  const [fact] = data?.items ?? [];
  if (fact === undefined) return null;
  return (
    <p className={styles.soft}>
      {typeWords(fact.type)} <Timestamp at={fact.at} /> by {fact.actor.replace(/^user:/, "")}
      {fact.reason && <>: {fact.reason}</>}
    </p>
  );
}

function HostState({ host }: { host: Host }) {
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

function Resource({ domain, resource }: { domain: TopologyDomain; resource: string }) {
  const whole = domain.allocatable[resource] ?? 0;
  const used = domain.used[resource] ?? 0;
  const others = domain.others[resource] ?? 0;
  const words = resourceWords(domain, resource);
  return (
    <li>
      <span className={styles.resource}>{shortResource(resource)}</span>
      <span className={styles.meter} role="img" aria-label={words}>
        <span className={styles.used} style={{ width: `${shareOf(used, whole) * 100}%` }} />
        <span className={styles.others} style={{ width: `${shareOf(others, whole) * 100}%` }} />
      </span>
      <span className={styles.words}>{words}</span>
    </li>
  );
}
