// The tree of cohorts and queues, one row each, for one resource: use of quota, demand, waits and trend.
import { useQuery } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { type Dispatch, type SetStateAction, useCallback, useMemo, useState } from "react";

import { Button } from "@/components/ui/button";
import { SelectField } from "@/components/ui/fields";
import { HeldOrderNote } from "@/components/ui/held-order-note";
import { Card, ListFrame, Page } from "@/components/ui/layout";
import { RouterLink } from "@/components/ui/router-link";
import { Empty, ExamplesLink } from "@/components/ui/states";
import { TypedField } from "@/components/ui/typed-field";
import { View } from "@/components/ui/view";
import { VirtualTable } from "@/components/ui/virtual-table";
import { capacityQuery, queueRowsQuery } from "@/lib/api/capacity";
import type { QueueNode } from "@/lib/api/types";
import { shortResource } from "@/lib/format/amounts";
import { inHeldOrder } from "@/lib/held-order";
import { useHeldOrder } from "@/lib/hooks/use-held-order";
import { useLogBeginning } from "@/lib/hooks/use-log-beginning";
import { useResource } from "@/lib/hooks/use-resource";
import { useTimeRange } from "@/lib/hooks/use-time-range";
import { useUrl } from "@/lib/hooks/use-url";

import { queueTreeQuery } from "../api/queues";
import { cohortsOf, flavorsOf, orderedRows, type QueueTreeRow, resourcesOf, treeRows } from "../model/queue-rows";
import { addressOf, columnsOf } from "./queue-columns";
import { QuotaLegend } from "./quota-lines";

export function QueuesPage() {
  const url = useUrl();
  const tree = useQuery(queueTreeQuery);
  const shown = useShown(tree.data?.roots ?? []);
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  return (
    <Page
      title="Queues"
      filters={shown.resource !== "" && <QueueFilters {...{ shown, closed, setClosed }} />}
      actions={<RouterLink to="/configuration/ClusterQueue?new=1">New queue</RouterLink>}
    >
      <View query={tree} rows={10} empty={({ roots }) => (roots.length === 0 ? <NoQueues /> : undefined)}>
        {({ roots }) => (
          <Rows
            {...{ roots, closed, setClosed }}
            resource={shown.resource}
            flavor={shown.flavor}
            text={url.get("filter")}
            order={url.get("sort")}
            cohort={url.get("cohort")}
            onChange={(changes) => url.change(changes, "replace")}
          />
        )}
      </View>
      {shown.resource !== "" && <QuotaLegend />}
    </Page>
  );
}

/** The resource and the flavor that are shown, of those that the queues have. */
function useShown(roots: QueueNode[]) {
  const url = useUrl();
  const [chosen, choose] = useResource();
  const resources = resourcesOf(roots);
  const resource = resources.includes(chosen) ? chosen : (resources[0] ?? "");
  const flavors = flavorsOf(roots, resource);
  const flavor = flavors.includes(url.get("flavor")) ? url.get("flavor") : "";
  return { resources, resource, choose, flavors, flavor, cohorts: cohortsOf(roots) };
}

interface QueueFiltersProps {
  shown: ReturnType<typeof useShown>;
  closed: ReadonlySet<string>;
  setClosed: (closed: ReadonlySet<string>) => void;
}

function QueueFilters({ shown: { resources, resource, choose, flavors, flavor, cohorts }, closed, setClosed }: QueueFiltersProps) {
  const url = useUrl();
  const order = url.get("sort");
  return (
    <>
      <SelectField label="Resource" value={resource} options={resources.map((value) => ({ value, words: shortResource(value) }))} onChange={(event) => choose(event.target.value)} />
      <SelectField
        label="Flavor"
        value={flavor}
        options={[{ value: "", words: "all" }, ...flavors.map((value) => ({ value, words: value }))]}
        onChange={(event) => url.change({ flavor: event.target.value }, "replace")}
      />
      <SelectField label="Sort" value={order} options={orderOptions(order)} onChange={(event) => url.change({ sort: event.target.value }, "replace")} />
      <TypedField label="Name contains" value={url.get("filter")} onSettled={(filter) => url.change({ filter }, "replace")} />
      {order === "" && cohorts.length > 0 && (
        <Button onClick={() => setClosed(closed.size > 0 ? new Set() : new Set(cohorts))}>{closed.size > 0 ? "Expand all" : "Collapse all"}</Button>
      )}
    </>
  );
}

function NoQueues() {
  return (
    <Card>
      <Empty title="No queues yet">
        <p>
          Apply a ResourceFlavor, a ClusterQueue and a LocalQueue with <code>headgate apply -f queues.yaml</code>, as in the <ExamplesLink />.
        </p>
      </Empty>
    </Card>
  );
}

interface RowsProps {
  roots: QueueNode[];
  resource: string;
  flavor: string;
  text: string;
  /** Empty for the tree. */
  order: string;
  /** The cohort that the address names. */
  cohort: string;
  /** The cohorts whose members are not shown. */
  closed: ReadonlySet<string>;
  setClosed: Dispatch<SetStateAction<ReadonlySet<string>>>;
  onChange: (changes: Record<string, string>) => void;
}

function Rows({ roots, resource, flavor, text, order, cohort, closed, setClosed, onChange }: RowsProps) {
  const { history } = useRouter();
  const [range] = useTimeRange();
  const read = useQuery(queueRowsQuery(resource));
  const summary = read.data;
  const [since, tellOfLog] = useLogBeginning(range);
  const capacity = useQuery(capacityQuery(resource, range, since)).data;
  tellOfLog(capacity);
  const points = capacity?.points;
  const rows = useMemo(() => {
    const queues = new Map((summary?.resource === resource ? summary.queues : []).map((row) => [row.clusterQueue, row]));
    const all = treeRows(roots, { resource, flavor, queues, points: points ?? [] }, order === "" ? closed : new Set(), text);
    return order === "" ? all : orderedRows(all, order);
  }, [roots, resource, flavor, summary, points, closed, text, order]);
  const toggle = useCallback((name: string) => setClosed((known) => (known.has(name) ? new Set([...known].filter((one) => one !== name)) : new Set([...known, name]))), [setClosed]);
  const columns = useMemo(() => columnsOf(resource, order === "" ? { closed, toggle } : undefined), [resource, order, closed, toggle]);
  // A tree stands as it is configured.
  const held = useHeldOrder(rows.map(rowKey), { asked: `${order} ${resource} ${flavor} ${text}`, at: read.dataUpdatedAt, isOn: order !== "" });
  return (
    <ListFrame fills {...held.handlers}>
      {rows.length === 0 ? (
        <Empty title={`No queue has "${text}" in its name`}>
          <Button onClick={() => onChange({ filter: "" })}>Clear the filter</Button>
        </Empty>
      ) : (
        <VirtualTable
          label={`Queues, ${shortResource(resource)}`}
          columns={columns}
          rows={inHeldOrder(rows, rowKey, held.places)}
          rowKey={rowKey}
          order={order}
          onOrder={(id) => onChange({ sort: nextOrder(order, id) })}
          {...(order === "" && { tree: { branchOf: (row: QueueTreeRow) => branchOf(row, closed), onFold: ({ node }: QueueTreeRow) => toggle(node.name) } })}
          opened={cohort === "" ? undefined : `Cohort/${cohort}`}
          onOpen={({ node }) => (node.kind === "ClusterQueue" ? history.push(addressOf(node)) : toggle(node.name))}
        />
      )}
      <HeldOrderNote held={held} />
    </ListFrame>
  );
}

function rowKey({ node }: QueueTreeRow): string {
  return `${node.kind}/${node.name}`;
}

/** A column's own order first, then the reverse, then the tree again. */
function nextOrder(order: string, id: string): string {
  const first = id === "name" ? id : `-${id}`;
  if (order === first) return first === id ? `-${id}` : id;
  return order === id || order === `-${id}` ? "" : first;
}

function branchOf({ node, depth }: QueueTreeRow, closed: ReadonlySet<string>) {
  return { depth, isOpen: node.children.length > 0 ? !closed.has(node.name) : undefined };
}

const ORDERS = [
  { value: "", words: "tree" },
  { value: "-used", words: "most used" },
  { value: "-pending", words: "most pending" },
  { value: "-wait", words: "longest wait" },
  { value: "name", words: "name" },
];

/** With the order of the address where it is none of these, such as the reverse that a head gives. */
function orderOptions(order: string) {
  return ORDERS.some(({ value }) => value === order) ? ORDERS : [...ORDERS, { value: order, words: `${order.replace("-", "")}, ${order.startsWith("-") ? "descending" : "ascending"}` }];
}
