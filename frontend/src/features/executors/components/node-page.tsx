// One node: whether it takes pods, what it offers, its devices, conditions and labels.
import { useQuery } from "@tanstack/react-query";

import { Figures } from "@/components/ui/figures";
import { HostActions } from "@/components/ui/host-actions";
import { Card, Page } from "@/components/ui/layout";
import { PlainTable } from "@/components/ui/plain-table";
import { RouterLink } from "@/components/ui/router-link";
import { Empty } from "@/components/ui/states";
import { Timestamp } from "@/components/ui/timestamp";
import { View } from "@/components/ui/view";
import type { Node } from "@/lib/api/types";
import { workloadAddress } from "@/lib/events";
import { byResource, formatAmount, formatQuantity, shortResource } from "@/lib/format/amounts";
import { formatDuration } from "@/lib/format/times";

import { nodeQuery, nodeUseQuery } from "../api/executors";
import { nodeStateOf } from "../model/executors";
import styles from "./executors.module.css";
import { StateBadge } from "./state-badge";

export function NodePage({ name }: { name: string }) {
  const found = useQuery(nodeQuery(name));
  return (
    <Page
      title={name}
      over={<RouterLink to="/topology">Topology</RouterLink>}
      actions={
        <>
          <RouterLink to={`/topology?${new URLSearchParams({ host: name })}`}>Show on the map</RouterLink>
          <RouterLink to={`/events?${new URLSearchParams({ stream: `node/${name}` })}`}>Events</RouterLink>
          {found.data && <HostActions name={name} isCordoned={found.data.spec.unschedulable === true} />}
        </>
      }
    >
      <View query={found} rows={6}>
        {(node) => (
          <div className={styles.stack}>
            <State node={node} />
            <Offers node={node} />
            <Workloads name={name} />
            <Devices node={node} />
            <Conditions node={node} />
          </div>
        )}
      </View>
    </Page>
  );
}

function State({ node }: { node: Node }) {
  const { status } = node;
  const lease = status?.leaseSeconds ?? 0;
  return (
    <Figures
      label="State"
      items={[
        { words: "State", value: <StateBadge {...nodeStateOf(node)} /> },
        { words: "Executor", value: status?.executor ? <RouterLink to={`/executors/${encodeURIComponent(status.executor)}`}>{status.executor}</RouterLink> : "—" },
        { words: "Lease", value: lease > 0 ? formatDuration(lease) : "none" },
        { words: "Since", value: <Timestamp at={node.metadata.creationTimestamp} /> },
      ]}
    />
  );
}

function Offers({ node: { status } }: { node: Node }) {
  const offered = Object.entries(status?.allocatable ?? {}).sort(([one], [other]) => byResource(one, other));
  return (
    <Card title="Resources">
      <PlainTable label="Resources" heads={["Resource", { words: "Offered", figure: true }, { words: "Used outside Headgate", figure: true }]}>
        {offered.map(([resource, amount]) => (
          <tr key={resource}>
            <th scope="row">{shortResource(resource)}</th>
            <td data-figure>{formatQuantity(resource, amount)}</td>
            <td data-figure>{formatQuantity(resource, status?.usedByOthers?.[resource] ?? 0, amount)}</td>
          </tr>
        ))}
      </PlainTable>
    </Card>
  );
}

function Workloads({ name }: { name: string }) {
  const use = useQuery(nodeUseQuery(name));
  return (
    <Card title="Workloads" aside={use.data === undefined ? undefined : `${use.data.workloadCount}`}>
      <View query={use} rows={2} empty={({ workloadCount }) => (workloadCount === 0 ? <Empty title="No workloads on this node" /> : undefined)}>
        {({ workloads, workloadCount }) => (
          <ul className={styles.users}>
            {workloads.map((key) => (
              <li key={key}>
                <RouterLink to={workloadAddress(key)}>{key}</RouterLink>
              </li>
            ))}
            {workloadCount > workloads.length && <li>and {workloadCount - workloads.length} more</li>}
          </ul>
        )}
      </View>
    </Card>
  );
}

function Devices({ node: { status } }: { node: Node }) {
  const devices = status?.devices ?? [];
  if (devices.length === 0) return null;
  return (
    <Card title="Devices" aside={`${devices.length}`}>
      <PlainTable label="Devices" heads={["Device", "Resource", "Model", { words: "Memory", figure: true }]}>
        {devices.map(({ id, resource, model, memoryBytes }) => (
          <tr key={`${resource}/${id}`}>
            <th scope="row">{id}</th>
            <td>{shortResource(resource)}</td>
            <td>{model || "—"}</td>
            <td data-figure>{memoryBytes ? formatAmount("memory", memoryBytes) : "—"}</td>
          </tr>
        ))}
      </PlainTable>
    </Card>
  );
}

function Conditions({ node: { status, metadata } }: { node: Node }) {
  return (
    <>
      <Card title="Conditions">
        <PlainTable label="Conditions" heads={["Condition", "Status", "Reason", "Since"]}>
          {(status?.conditions ?? []).map(({ type, status: value, reason, message, lastTransitionTime }) => (
            <tr key={type}>
              <th scope="row">{type}</th>
              <td>{value}</td>
              <td>{[reason, message].filter(Boolean).join(": ")}</td>
              <td>
                <Timestamp at={lastTransitionTime} />
              </td>
            </tr>
          ))}
        </PlainTable>
      </Card>
      <Card title="Labels">
        <PlainTable label="Labels" heads={["Label", "Value"]}>
          {Object.entries(metadata.labels ?? {}).map(([key, value]) => (
            <tr key={key}>
              <th scope="row">{key}</th>
              <td>{value}</td>
            </tr>
          ))}
        </PlainTable>
      </Card>
    </>
  );
}
