// The pods of one attempt of a workload, with the attempts there were.
import { useInfiniteQuery } from "@tanstack/react-query";
import { useMemo } from "react";

import { Button } from "@/components/ui/button";
import { SelectField } from "@/components/ui/fields";
import { Card } from "@/components/ui/layout";
import { PlainTable } from "@/components/ui/plain-table";
import { RouterLink } from "@/components/ui/router-link";
import { Empty } from "@/components/ui/states";
import { Timestamp } from "@/components/ui/timestamp";
import { TypedField } from "@/components/ui/typed-field";
import { View } from "@/components/ui/view";
import { type Column, VirtualTable } from "@/components/ui/virtual-table";
import type { AttemptSummary, Pod, WorkloadObject } from "@/lib/api/types";
import { workloadAddress } from "@/lib/events";
import { type UrlState, useUrl } from "@/lib/hooks/use-url";

import { podsQuery } from "../api/pods";
import { POD_FILTERS, POD_STATES, type PodFilters, countWords, endWords, podCount, podName } from "../model/pods";
import { LogLink, NodeLink, RunTime, StateBadge } from "./pod-cells";
import styles from "./pods.module.css";

const NOTHING = Object.fromEntries(POD_FILTERS.map((name) => [name, ""]));

export function Pods({ workload, workloadKey }: { workload: WorkloadObject; workloadKey: string }) {
  const url = useUrl();
  const filters = Object.fromEntries(POD_FILTERS.map((name) => [name, url.get(name)])) as unknown as PodFilters;
  const query = useInfiniteQuery(podsQuery(workloadKey, filters));
  const first = query.data?.pages[0];
  const rows = useMemo(() => query.data?.pages.flatMap((page) => page.items) ?? [], [query.data]);
  const columns = useMemo(() => columnsOf(workloadKey, String(first?.attempt ?? "")), [workloadKey, first?.attempt]);
  const isNarrowed = POD_FILTERS.some((name) => name !== "attempt" && filters[name] !== "");
  return (
    <div className={styles.stack}>
      <Card title="Pods" aside={first && shownWords(rows.length, first.attempts.find(({ attempt }) => attempt === first.attempt), isNarrowed)}>
        <Filters url={url} filters={filters} attempts={first?.attempts ?? []} podSets={workload.spec.podSets.map(({ name }) => name ?? "main")} />
        <View query={query} empty={() => (rows.length === 0 ? <NoPods isNarrowed={isNarrowed} onClear={() => url.change(NOTHING, "replace")} /> : undefined)}>
          {() => (
            <VirtualTable
              label="Pods"
              columns={columns}
              rows={rows}
              rowKey={(pod) => `${podName(pod)}/${pod.run}`}
              onEnd={() => {
                if (query.hasNextPage && !query.isFetching) void query.fetchNextPage();
              }}
            />
          )}
        </View>
      </Card>
      {first && first.attempts.length > 0 && <Attempts attempts={first.attempts} workloadKey={workloadKey} />}
    </div>
  );
}

function shownWords(loaded: number, attempt: AttemptSummary | undefined, isNarrowed: boolean): string {
  if (attempt === undefined) return "";
  return isNarrowed ? `${loaded} shown of ${podCount(attempt)}` : countWords(attempt);
}

function NoPods({ isNarrowed, onClear }: { isNarrowed: boolean; onClear: () => void }) {
  if (!isNarrowed) return <Empty title="No pods yet">They are listed once quota is reserved for the workload.</Empty>;
  return (
    <Empty title="No pod matches">
      <Button onClick={onClear}>Clear filters</Button>
    </Empty>
  );
}

interface FiltersProps {
  url: UrlState;
  filters: PodFilters;
  attempts: AttemptSummary[];
  podSets: string[];
}

function Filters({ url, filters, attempts, podSets }: FiltersProps) {
  const set = (name: keyof PodFilters) => (value: string) => url.change({ [name]: value }, "replace");
  const options = (words: string, values: readonly (string | number)[]) => [
    { value: "", words },
    ...values.map((value) => ({ value: String(value), words: String(value) })),
  ];
  return (
    <search className={styles.filters} aria-label="Filter pods">
      {attempts.length > 1 && (
        <SelectField
          label="Attempt"
          value={filters.attempt}
          options={options("Newest", attempts.map(({ attempt }) => attempt).reverse())}
          onChange={(event) => set("attempt")(event.target.value)}
        />
      )}
      <SelectField label="State" value={filters.state} options={options("All", POD_STATES)} onChange={(event) => set("state")(event.target.value)} />
      {podSets.length > 1 && (
        <SelectField label="Pod set" value={filters.podSet} options={options("All", podSets)} onChange={(event) => set("podSet")(event.target.value)} />
      )}
      <TypedField label="Node" value={filters.node} onSettled={set("node")} />
      <Button aria-pressed={filters.runs === "all"} onClick={() => set("runs")(filters.runs === "all" ? "" : "all")}>
        Earlier runs
      </Button>
    </search>
  );
}

function columnsOf(workloadKey: string, attempt: string): Column<Pod>[] {
  return [
    { id: "rank", header: "Rank", width: "3rem", narrow: "2rem", end: true, cell: (pod) => <span className="number">{pod.rank ?? "—"}</span> },
    { id: "pod", header: "Pod", width: "minmax(5rem, 1fr)", narrow: "minmax(0, 1fr)", cell: (pod) => podName(pod) },
    { id: "state", header: "State", width: "7rem", narrow: "7rem", cell: (pod) => <StateBadge state={pod.state} /> },
    { id: "node", header: "Node", width: "minmax(5rem, 1fr)", cell: (pod) => <NodeLink node={pod.node} /> },
    { id: "end", header: "End", width: "minmax(6rem, 2fr)", below: true, cell: (pod) => <End pod={pod} /> },
    { id: "restarts", header: "Restarts", width: "4.5rem", end: true, cell: (pod) => <span className="number">{pod.run - 1}</span> },
    { id: "result", header: "Result", width: "minmax(5rem, 1fr)", spare: true, cell: (pod) => <span title={pod.result}>{pod.result || "—"}</span> },
    { id: "started", header: "Started", width: "6.5rem", spare: true, cell: (pod) => <Timestamp at={pod.startedAt} /> },
    { id: "time", header: "Run time", width: "5.5rem", end: true, cell: (pod) => <RunTime pod={pod} /> },
    { id: "log", header: "Logs", width: "3rem", narrow: "3rem", cell: (pod) => <LogLink {...{ pod, workloadKey, attempt }} /> },
  ];
}

function End({ pod }: { pod: Pod }) {
  const words = endWords(pod);
  return (
    <span className={pod.state === "Failed" ? styles.bad : undefined} title={words}>
      {pod.node && <span className={styles.onPhone}>on {pod.node} </span>}
      {words || <span className={styles.onWide}>—</span>}
    </span>
  );
}

function Attempts({ attempts, workloadKey }: { attempts: AttemptSummary[]; workloadKey: string }) {
  const address = (tab: string, attempt: number) => `${workloadAddress(workloadKey)}?tab=${tab}&attempt=${attempt}`;
  return (
    <Card title="Attempts">
      <PlainTable label="Attempts" heads={[{ words: "Attempt", figure: true }, "Pods", { words: "Restarts", figure: true }, { words: "Started", spare: true }, { words: "Finished", spare: true }, "Logs"]}>
        {[...attempts].reverse().map((found) => (
          <tr key={found.attempt}>
            <th scope="row" data-figure>
              <RouterLink to={address("pods", found.attempt)}>{found.attempt}</RouterLink>
            </th>
            <td>{countWords(found)}</td>
            <td data-figure>{found.restarts}</td>
            <td data-spare>
              <Timestamp at={found.startedAt} />
            </td>
            <td data-spare>
              <Timestamp at={found.finishedAt} />
            </td>
            <td>
              <RouterLink to={address("logs", found.attempt)} aria-label={`Open logs of attempt ${found.attempt}`}>
                Open
              </RouterLink>
            </td>
          </tr>
        ))}
      </PlainTable>
    </Card>
  );
}
