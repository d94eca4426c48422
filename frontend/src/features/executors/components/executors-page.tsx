// Executors: which are heard of, what they serve and run, and what follows where one is lost.
import { useQuery } from "@tanstack/react-query";

import { CodeBlock } from "@/components/ui/code-block";
import { ListFrame, Page } from "@/components/ui/layout";
import { PlainTable } from "@/components/ui/plain-table";
import { RouterLink } from "@/components/ui/router-link";
import { Empty } from "@/components/ui/states";
import { Timestamp } from "@/components/ui/timestamp";
import { View } from "@/components/ui/view";
import type { Executor } from "@/lib/api/types";
import { formatDuration } from "@/lib/format/times";

import { executorsQuery, runsWithoutQuery } from "../api/executors";
import { stateOf, termsOf } from "../model/executors";
import { ExecutorActions } from "./executor-actions";
import styles from "./executors.module.css";
import { StateBadge } from "./state-badge";

const HEADS = [
  "Name",
  "State",
  { words: "Nodes", figure: true },
  { words: "Pods", figure: true },
  { words: "Lease", figure: true, spare: true },
  { words: "If lost", spare: true },
  { words: "Version", spare: true },
  { words: "Last seen", spare: true },
  { words: "Actions", spare: true },
] as const;
const COMMAND = "headgate agent --name rack-a";

export function ExecutorsPage() {
  const list = useQuery(executorsQuery);
  return (
    <Page title="Executors" filters={null}>
      <View query={list} rows={4} empty={(items) => (items.length === 0 ? <NoExecutor /> : undefined)}>
        {(items) => (
          <ListFrame>
            <PlainTable label="Executors by name" heads={HEADS}>
              {items.map((item) => (
                <Row key={item.metadata.name} item={item} />
              ))}
            </PlainTable>
          </ListFrame>
        )}
      </View>
    </Page>
  );
}

function NoExecutor() {
  const runs = useQuery(runsWithoutQuery);
  return (
    <Empty title={runs.data ? "No executor is connected" : "Nothing can run: connect an executor"}>
      {runs.data && <p>Running workloads are reported over the API by what started them.</p>}
      <p>An executor starts and stops the pods of its nodes. On a host:</p>
      <div className={styles.command}>
        <CodeBlock label="command" text={COMMAND} />
      </div>
    </Empty>
  );
}

function Row({ item }: { item: Executor }) {
  const { name } = item.metadata;
  const { status } = item;
  const { leaseSeconds, policy } = termsOf(item);
  const state = stateOf(item);
  return (
    <tr>
      <th scope="row">
        <RouterLink to={`/executors/${encodeURIComponent(name)}`}>{name}</RouterLink>
      </th>
      <td>
        <StateBadge {...state} /> {state.words === "Lost" && <Timestamp at={state.since} />}
      </td>
      <td data-figure>{status?.nodes ?? 0}</td>
      <td data-figure>{status?.runningPods ?? 0}</td>
      <td data-figure data-spare>
        {formatDuration(leaseSeconds)}
      </td>
      <td data-spare>{policy}</td>
      <td data-spare>{status?.version || "—"}</td>
      <td data-spare>
        <Timestamp at={status?.lastSeenAt} />
      </td>
      <td data-spare>{(status?.nodes ?? 0) > 0 && <ExecutorActions name={name} actions={["drain"]} inList />}</td>
    </tr>
  );
}
