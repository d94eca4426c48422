// One node: whether it takes pods, what it offers, its devices, conditions and labels.
import { useQuery } from "@tanstack/react-query";

import { FactBadge } from "@/components/ui/event-line";
import { SelectField } from "@/components/ui/fields";
import { Figures } from "@/components/ui/figures";
import { HostActions } from "@/components/ui/host-actions";
import { Card, Page } from "@/components/ui/layout";
import { NodeUse } from "@/components/ui/node-use";
import { PlainTable } from "@/components/ui/plain-table";
import { RouterLink } from "@/components/ui/router-link";
import { Empty } from "@/components/ui/states";
import { Timestamp } from "@/components/ui/timestamp";
import { View } from "@/components/ui/view";
import { nodeAllocationQuery } from "@/lib/api/nodes";
import type { Node } from "@/lib/api/types";
import { factDetail, workloadAddress } from "@/lib/events";
import { amountWords, byAllocation, untilWords } from "@/lib/format/allocations";
import { byResource, formatAmount, formatQuantity, shortResource } from "@/lib/format/amounts";
import { formatDuration } from "@/lib/format/times";
import { useResource } from "@/lib/hooks/use-resource";

import { nodeEventsQuery, nodeQuery } from "../api/executors";
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
            <Use node={node} />
            <div className={styles.pair}>
              <Workloads name={name} />
              <Offers node={node} />
            </div>
            <Devices node={node} />
            <History name={name} />
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

/** What pods took of it over time, of the chosen resource where it offers that. */
function Use({ node: { metadata, status } }: { node: Node }) {
  const [chosen, choose] = useResource();
  const offered = Object.keys(status?.allocatable ?? {}).sort(byResource);
  const resource = offered.includes(chosen) ? chosen : (offered[0] ?? "");
  if (resource === "") return null;
  return (
    <section className={styles.use} aria-label="Use over time">
      <NodeUse name={metadata.name} resource={resource}>
        <SelectField label="Resource" value={resource} options={offered.map((value) => ({ value, words: shortResource(value) }))} onChange={(event) => choose(event.target.value)} />
      </NodeUse>
    </section>
  );
}

function Workloads({ name }: { name: string }) {
  const allocation = useQuery(nodeAllocationQuery(name));
  return (
    <Card title="Pods" aside={allocation.data && `${allocation.data.workloads.reduce((sum, { pods }) => sum + pods, 0)}`}>
      <View query={allocation} rows={2} empty={({ workloads }) => (workloads.length === 0 ? <Empty title="No pods on this node" /> : undefined)}>
        {({ workloads }) => (
          <PlainTable label="Pods" heads={["Workload", { words: "Pods", figure: true }, { words: "Requests", figure: true }, "ClusterQueue", { words: "Priority", figure: true, spare: true }, "Ends"]}>
            {[...workloads].sort(byAllocation).map((workload) => (
              <tr key={workload.key}>
                <th scope="row">{workload.key.includes("/") ? <RouterLink to={workloadAddress(workload.key)}>{workload.key}</RouterLink> : workload.key}</th>
                <td data-figure>{workload.pods}</td>
                <td data-figure>{amountWords(workload)}</td>
                <td>{workload.clusterQueue || "—"}</td>
                <td data-figure data-spare>
                  {workload.clusterQueue === "" ? "—" : workload.priority}
                </td>
                <td>{untilWords(workload) || "—"}</td>
              </tr>
            ))}
          </PlainTable>
        )}
      </View>
    </Card>
  );
}

/** What happened to it, newest first. */
function History({ name }: { name: string }) {
  const events = useQuery(nodeEventsQuery(name));
  return (
    <Card title="History" aside={<RouterLink to={`/events?${new URLSearchParams({ stream: `node/${name}` })}`}>All events</RouterLink>}>
      <View query={events} rows={3} empty={(found) => (found.length === 0 ? <Empty title="No events of this node" /> : undefined)}>
        {(found) => (
          <PlainTable label="History" heads={["Time", "Event", "Reason", "Actor"]}>
            {found.map((fact) => (
              <tr key={fact.position}>
                <td>
                  <Timestamp at={fact.at} />
                </td>
                <th scope="row">
                  <FactBadge fact={fact} />
                </th>
                <td>{fact.reason || factDetail(fact)}</td>
                <td>{fact.actor.replace(/^user:/, "")}</td>
              </tr>
            ))}
          </PlainTable>
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
      <PlainTable label="Devices" heads={[{ words: "Index", figure: true }, "Device", { words: "Resource", spare: true }, "Model", { words: "Memory", figure: true, spare: true }, { words: "Uncorrected errors", figure: true }]}>
        {devices.map(({ id, resource, model, memoryBytes, uncorrectedErrors }, index) => (
          <tr key={`${resource}/${id}`}>
            <td data-figure>{index}</td>
            <th scope="row">{id}</th>
            <td data-spare>{shortResource(resource)}</td>
            <td>{model || "—"}</td>
            <td data-figure data-spare>{memoryBytes ? formatAmount("memory", memoryBytes) : "—"}</td>
            <td data-figure>{uncorrectedErrors == null ? "—" : uncorrectedErrors.toLocaleString("en")}</td>
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
