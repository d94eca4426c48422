// One executor: whether it is heard of, what becomes of its pods where it is not, and its nodes.
import { useQuery } from "@tanstack/react-query";
import { Ban } from "lucide-react";

import { Badge } from "@/components/ui/badge";
import { Figures } from "@/components/ui/figures";
import { Card, Page } from "@/components/ui/layout";
import { PlainTable } from "@/components/ui/plain-table";
import { RouterLink } from "@/components/ui/router-link";
import { Empty } from "@/components/ui/states";
import { Timestamp } from "@/components/ui/timestamp";
import { View } from "@/components/ui/view";
import type { Executor, Node } from "@/lib/api/types";
import { changesAddress } from "@/lib/events";
import { byResource, shortResource } from "@/lib/format/amounts";
import { formatDuration } from "@/lib/format/times";

import { executorQuery, nodesQuery } from "../api/executors";
import { actionsOn, drainProgress, drainStateOf, faultsOf, nodeStateOf, policyWords, stateOf, termsOf } from "../model/executors";
import { ExecutorActions } from "./executor-actions";
import styles from "./executors.module.css";
import { StateBadge } from "./state-badge";

export function ExecutorPage({ name }: { name: string }) {
  const found = useQuery(executorQuery(name));
  const nodes = useQuery(nodesQuery(found.data));
  const state = drainStateOf((nodes.data ?? []).filter(({ status }) => status?.executor === name));
  const progress = drainProgress(state, found.data?.status?.runningPods ?? 0);
  const isSelecting = Object.keys(found.data?.spec.nodeSelector ?? {}).length > 0;
  return (
    <Page
      title={name}
      over={<RouterLink to="/executors">Executors</RouterLink>}
      actions={
        <>
          <RouterLink to={`/events?${new URLSearchParams({ stream: `executor/${name}` })}`}>Events</RouterLink>
          <RouterLink to={changesAddress(`executor/${name}`)}>Change history</RouterLink>
          <ExecutorActions name={name} actions={actionsOn(state, found.data?.status?.nodes ?? 0)} />
        </>
      }
    >
      <View query={found} rows={6}>
        {(executor) => (
          <div className={styles.stack}>
            <State executor={executor} />
            {progress !== "" && (
              <p>
                <Badge tone="hold" icon={Ban}>
                  {progress}
                </Badge>
              </p>
            )}
            <Terms executor={executor} />
            <Card title="Nodes" aside={isSelecting ? `${nodes.data?.length ?? "…"}` : undefined}>
              {isSelecting ? (
                <View query={nodes} rows={4} empty={(items) => (items.length === 0 ? <Empty title="No node has its labels" /> : undefined)}>
                  {(items) => <Nodes items={items} />}
                </View>
              ) : (
                <p className={styles.words}>It selects no nodes by labels; it serves flavors: {(executor.spec.flavors ?? []).join(", ") || "none"}.</p>
              )}
            </Card>
          </div>
        )}
      </View>
    </Page>
  );
}

function State({ executor }: { executor: Executor }) {
  const state = stateOf(executor);
  return (
    <>
      {state.words === "Lost" ? (
        <section className={styles.lost} aria-label="State">
          <p>
            <strong>Lost</strong> <Timestamp at={state.since} />: no sign of life within its lease of {formatDuration(termsOf(executor).leaseSeconds)}.
          </p>
          <p>{policyWords(executor)}</p>
        </section>
      ) : (
        <p>
          <StateBadge {...state} />
        </p>
      )}
      {faultsOf(executor).map(({ type, message }) => (
        <p key={type} className={styles.lost}>
          <strong>{type}</strong>: {message}
        </p>
      ))}
    </>
  );
}

function Terms({ executor }: { executor: Executor }) {
  const { status } = executor;
  const { leaseSeconds, policy } = termsOf(executor);
  return (
    <Figures
      label="Figures"
      items={[
        { words: "Running pods", value: status?.runningPods ?? 0 },
        { words: "Lease", value: formatDuration(leaseSeconds) },
        { words: "If lost", value: policy },
        { words: "Last seen", value: <Timestamp at={status?.lastSeenAt} /> },
        { words: "Version", value: status?.version || "—" },
      ]}
    />
  );
}

function Nodes({ items }: { items: Node[] }) {
  return (
    <PlainTable label="Nodes of the executor" heads={["Node", "State", "Offers"]}>
      {items.map((node) => (
        <tr key={node.metadata.name}>
          <th scope="row">
            <RouterLink to={`/nodes/${encodeURIComponent(node.metadata.name)}`}>{node.metadata.name}</RouterLink>
          </th>
          <td>
            <StateBadge {...nodeStateOf(node)} />
          </td>
          <td>{offerWords(node)}</td>
        </tr>
      ))}
    </PlainTable>
  );
}

function offerWords({ status }: Node): string {
  const offered = Object.entries(status?.allocatable ?? {}).filter(([resource]) => resource !== "pods");
  return offered
    .sort(([one], [other]) => byResource(one, other))
    .map(([resource, amount]) => `${String(amount)} ${shortResource(resource)}`)
    .join(", ");
}
