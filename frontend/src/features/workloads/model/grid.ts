// The list of workloads as a grid: its columns, views, order and groups, all in the address.
import type { UrlState } from "@/lib/hooks/use-url";

import { filterChange, filterIn, tokensIn } from "./filter-text";

export const COLUMN_NAMES = [
  "phase", "name", "owner", "queue", "clusterQueue", "gpu", "cpu", "memory", "pods", "priority",
  "wait", "run", "submitted", "ended", "requeues", "flavors", "executors", "labels", "reason",
] as const;
export type ColumnName = (typeof COLUMN_NAMES)[number];

export const COLUMN_WORDS: Record<ColumnName, string> = {
  phase: "Phase",
  name: "Workload",
  owner: "Owner",
  queue: "LocalQueue",
  clusterQueue: "ClusterQueue",
  gpu: "GPU",
  cpu: "CPU",
  memory: "Memory",
  pods: "Pods",
  priority: "Priority",
  wait: "Wait",
  run: "Run time",
  submitted: "Submitted",
  ended: "Ended",
  requeues: "Requeues",
  flavors: "Flavors",
  executors: "Executor",
  labels: "Labels",
  reason: "Reason",
};

/** Columns without which a row says nothing. */
export const FIXED: readonly ColumnName[] = ["phase", "name"];
const USUAL: readonly ColumnName[] = ["phase", "name", "owner", "queue", "gpu", "pods", "wait", "run", "reason"];

/** Fields that the server orders by, of the columns that have one. */
export const ORDERED: readonly ColumnName[] = ["phase", "name", "owner", "queue", "clusterQueue", "gpu", "pods", "priority", "wait", "run", "submitted", "ended"];
const LARGEST_FIRST: readonly ColumnName[] = ["gpu", "pods", "priority", "wait", "run", "submitted", "ended"];
export const NEWEST_FIRST = "-submitted";

export const GROUPS = ["queue", "clusterQueue", "owner", "phase", "namespace", "priority"] as const;
export type GroupName = (typeof GROUPS)[number];
export const GROUP_WORDS: Record<GroupName, string> = {
  queue: "LocalQueue",
  clusterQueue: "ClusterQueue",
  owner: "Owner",
  phase: "Phase",
  namespace: "Namespace",
  priority: "Priority",
};

export interface Grid {
  filter: string;
  order: string;
  group: GroupName | null;
  columns: ColumnName[];
}

/** The grid that the address describes; what it does not know is left out. */
export function gridIn(url: Pick<UrlState, "get">): Grid {
  const order = url.get("sort");
  const named = url.get("columns").split(",");
  const known = named.flatMap((name) => COLUMN_NAMES.filter((column) => column === name));
  const columns = [...FIXED.filter((name) => !known.includes(name)), ...new Set(known)];
  return {
    filter: filterIn(url),
    order: ORDERED.some((name) => name === order.replace("-", "")) ? order : NEWEST_FIRST,
    group: GROUPS.find((name) => name === url.get("group")) ?? null,
    columns: url.get("columns") === "" ? [...USUAL] : columns,
  };
}

/** The columns with one shown or hidden, as the address has them; empty for the usual ones. */
export function toggledColumn(columns: readonly ColumnName[], name: ColumnName): string {
  if (columns.includes(name)) return written(columns.filter((known) => known !== name));
  // It stands behind the nearest of those that come before it as long as none is moved.
  const before = COLUMN_NAMES.slice(0, COLUMN_NAMES.indexOf(name)).findLast((known) => columns.includes(known));
  return written(columns.toSpliced(before === undefined ? 0 : columns.indexOf(before) + 1, 0, name));
}

/** The columns with one moved to a place among the others, as the address has them. */
export function movedColumn(columns: readonly ColumnName[], name: ColumnName, place: number): string {
  return written(columns.filter((known) => known !== name).toSpliced(place, 0, name));
}

function written(columns: readonly ColumnName[]): string {
  return isUsual(columns) ? "" : columns.join(",");
}

function isUsual(columns: readonly ColumnName[]): boolean {
  return columns.join() === USUAL.join();
}

/** The order after a click on a column's head: its own first, then the reverse, then the newest first. */
export function nextOrder(order: string, name: ColumnName): string {
  const first = LARGEST_FIRST.includes(name) ? `-${name}` : name;
  const second = first === name ? `-${name}` : name;
  if (order === first) return second === NEWEST_FIRST ? "" : second;
  return order === second || first === NEWEST_FIRST ? "" : first;
}

export interface ListView {
  name: string;
  filter: string;
  sort?: string;
}

/** The built-in views. */
export const VIEWS: readonly ListView[] = [
  { name: "All", filter: "" },
  { name: "Mine", filter: "owner:me" },
  { name: "Stuck", filter: "phase:Retrying,OnHold,Inactive" },
  { name: "Unschedulable", filter: "phase:Unschedulable" },
  { name: "Failed today", filter: "phase:Failed ended:<24h" },
  { name: "Largest", filter: "-phase:Succeeded,Failed,Cancelled", sort: "-gpu" },
];

/** The change of the address that shows a view. */
export function viewChange(view: ListView): Record<string, string> {
  return { ...filterChange(view.filter), sort: view.sort ?? "", group: "", open: "" };
}

/** The grid as a saved view keeps it: its part of the address, in one order, without what is usual. */
export function queryOf({ filter, order, group, columns }: Grid): string {
  const parts = {
    filter: tokensIn(filter).sort().join(" "),
    sort: order === NEWEST_FIRST ? "" : order,
    group: group ?? "",
    columns: written(columns),
  };
  return new URLSearchParams(Object.entries(parts).filter(([, value]) => value !== "")).toString();
}

/** The grid that a saved view describes. */
export function gridOf(query: string): Grid {
  const parameters = new URLSearchParams(query);
  return gridIn({ get: (name) => parameters.get(name) ?? "" });
}

export interface Total {
  count: number;
  gpus: number;
}

/** The sum of all groups; undefined before they are known. */
export function totalOf(groups: readonly Total[] | undefined): Total | undefined {
  return groups && { count: groups.reduce((sum, group) => sum + group.count, 0), gpus: groups.reduce((sum, group) => sum + group.gpus, 0) };
}

const MAX_EXACT = 10_000;

/** How many match: exact up to 10,000, then "10,000+". */
export function countWords(count: number): string {
  return count > MAX_EXACT ? `${MAX_EXACT.toLocaleString("en")}+` : count.toLocaleString("en");
}

/** "2 workloads, 219 GPU"; without the sum where more match than are counted, as it is that of a part. */
export function totalWords({ count, gpus }: Total, isExceeded = false): string {
  const words = `${countWords(isExceeded ? Infinity : count)} ${count === 1 ? "workload" : "workloads"}`;
  return isExceeded ? words : `${words}, ${gpus.toLocaleString("en")} GPU`;
}

/** Whether the grid shows the view as it is. */
export function isShown(view: ListView, { filter, order, group }: Grid): boolean {
  const same = tokensIn(filter).sort().join(" ") === tokensIn(view.filter).sort().join(" ");
  return same && order === (view.sort ?? NEWEST_FIRST) && group === null;
}
