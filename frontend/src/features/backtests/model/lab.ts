// The policy lab: quotas as they are and as they are tried, and the manifests that say so.
import { stringify } from "yaml";

import { byResource, quantityOf } from "@/lib/format/amounts";

export interface QueueManifest {
  apiVersion?: string;
  kind?: string;
  metadata: { name: string; resourceVersion?: string; [field: string]: unknown };
  spec?: QueueSpec;
  [field: string]: unknown;
}

interface QueueSpec {
  resourceGroups?: { coveredResources: string[]; flavors: { name: string; resources: ResourceQuota[] }[] }[];
  [field: string]: unknown;
}

interface ResourceQuota {
  name: string;
  nominalQuota: string | number;
  borrowingLimit?: string | number | null;
  [field: string]: unknown;
}

/** One quota that the lab can change; amounts are in the unit that people set it in. */
export interface QuotaLine {
  /** What it is called in the address. */
  key: string;
  queue: string;
  flavor: string;
  resource: string;
  nominal: number;
  /** The most that may be borrowed; null without a limit, undefined where nothing is lent. */
  borrowing: number | null | undefined;
}

/** Amounts that are tried instead, by the key of the quota. */
export type Edits = Readonly<Record<string, { nominal?: number; borrowing?: number | null }>>;

/** So many of the newest events are replayed first while quotas are moved: some seconds of work. */
const SAMPLE_EVENTS = 1_000;
const DERIVED = ["uid", "generation", "creationTimestamp", "deletionTimestamp"];
const GIBIBYTE = 2 ** 30;
/** The number in the unit that a slider moves: GiB for bytes, else as it is. */
function inUnit(resource: string, text: string | number): number {
  const amount = quantityOf(text);
  return isBytes(resource) ? amount / GIBIBYTE : amount;
}

function written(resource: string, amount: number): string {
  return isBytes(resource) ? `${amount}Gi` : String(amount);
}

/** The unit of amounts of a resource. */
export function unitOf(resource: string): string {
  if (resource === "cpu") return "CPU";
  if (isBytes(resource)) return "GiB";
  const last = resource.slice(resource.lastIndexOf("/") + 1);
  return last === "gpu" ? "GPU" : last;
}

function isBytes(resource: string): boolean {
  return resource === "memory" || resource.endsWith("storage") || resource.startsWith("hugepages-");
}

/** The resources with quota, GPUs first. */
export function resourcesOf(queues: readonly QueueManifest[]): string[] {
  return [...new Set(queues.flatMap((queue) => quotasOf(queue).map(({ quota }) => quota.name)))].sort(byResource);
}

/** The resource to begin with: the one that is asked for, else the first that the chosen queue has quota of, else the first of all. */
export function firstResource(queues: readonly QueueManifest[], asked: string, queue: string): string {
  const all = resourcesOf(queues);
  if (all.includes(asked)) return asked;
  return resourcesOf(queues.filter(({ metadata }) => metadata.name === queue))[0] ?? all[0] ?? "";
}

/** The lines with those of the chosen queue first. */
export function chosenFirst(lines: readonly QuotaLine[], queue: string): QuotaLine[] {
  return [...lines.filter((line) => line.queue === queue), ...lines.filter((line) => line.queue !== queue)];
}

/** The quotas of one resource, by ClusterQueue and flavor. */
export function linesOf(queues: readonly QueueManifest[], resource: string): QuotaLine[] {
  return queues.flatMap((queue) =>
    quotasOf(queue)
      .filter(({ quota }) => quota.name === resource)
      .map(({ flavor, quota }) => ({
        key: `${queue.metadata.name}:${flavor}:${resource}`,
        queue: queue.metadata.name,
        flavor,
        resource,
        nominal: inUnit(resource, quota.nominalQuota),
        borrowing: queue.spec?.["cohortName"] ? (quota.borrowingLimit === undefined || quota.borrowingLimit === null ? null : inUnit(resource, quota.borrowingLimit)) : undefined,
      })),
  );
}

function quotasOf({ spec }: QueueManifest): { flavor: string; quota: ResourceQuota }[] {
  return (spec?.resourceGroups ?? []).flatMap(({ flavors }) => flavors.flatMap(({ name, resources }) => resources.map((quota) => ({ flavor: name, quota }))));
}

/** What is tried of a quota: each amount as it is or as it was edited. */
export function triedOf(line: QuotaLine, edits: Edits): { nominal: number; borrowing: number | null | undefined } {
  const { nominal = line.nominal, borrowing = line.borrowing } = edits[line.key] ?? {};
  return { nominal, borrowing };
}

/** The edits with one amount changed; one that is as it was is no edit. */
export function withEdit(edits: Edits, line: QuotaLine, change: { nominal?: number; borrowing?: number | null }): Edits {
  const next = { ...edits[line.key], ...change };
  if (next.nominal === line.nominal) delete next.nominal;
  if (next.borrowing === line.borrowing) delete next.borrowing;
  const others = Object.fromEntries(Object.entries(edits).filter(([key]) => key !== line.key));
  return Object.keys(next).length === 0 ? others : { ...others, [line.key]: next };
}

/** Edits as text of the address: `vision:a100:nvidia.com/gpu=64/none`, separated by commas. */
export function editsText(edits: Edits): string {
  return Object.entries(edits)
    .map(([key, { nominal, borrowing }]) => `${key}=${nominal ?? ""}/${borrowing === undefined ? "" : (borrowing ?? "none")}`)
    .sort()
    .join(",");
}

/** The edits of such a text; what cannot be read is left out. */
export function editsIn(text: string): Edits {
  const found: Record<string, { nominal?: number; borrowing?: number | null }> = {};
  for (const part of text.split(",")) {
    const at = part.lastIndexOf("=");
    const [nominal = "", borrowing = ""] = part.slice(at + 1).split("/");
    const edit: { nominal?: number; borrowing?: number | null } = {};
    if (isAmount(nominal)) edit.nominal = Number(nominal);
    if (borrowing === "none") edit.borrowing = null;
    else if (isAmount(borrowing)) edit.borrowing = Number(borrowing);
    if (at > 0 && Object.keys(edit).length > 0) found[part.slice(0, at)] = edit;
  }
  return found;
}

function isAmount(text: string): boolean {
  return /^\d{1,12}(\.\d{1,3})?$/.test(text);
}

/** The ClusterQueues that the edits change, as they would be; unchanged ones are left out. */
export function changedQueues(queues: readonly QueueManifest[], edits: Edits): QueueManifest[] {
  return queues.filter(({ metadata }) => Object.keys(edits).some((key) => key.startsWith(`${metadata.name}:`))).map((queue) => withQuotas(queue, edits));
}

function withQuotas(queue: QueueManifest, edits: Edits): QueueManifest {
  const groups = (queue.spec?.resourceGroups ?? []).map((group) => ({
    ...group,
    flavors: group.flavors.map((flavor) => ({
      ...flavor,
      resources: flavor.resources.map((quota) => edited(quota, edits[`${queue.metadata.name}:${flavor.name}:${quota.name}`])),
    })),
  }));
  return { ...queue, spec: { ...queue.spec, resourceGroups: groups } };
}

function edited(quota: ResourceQuota, edit: Edits[string] | undefined): ResourceQuota {
  if (edit === undefined) return quota;
  const next = { ...quota };
  if (edit.nominal !== undefined) next.nominalQuota = written(quota.name, edit.nominal);
  if (edit.borrowing === null) delete next.borrowingLimit;
  else if (edit.borrowing !== undefined) next.borrowingLimit = written(quota.name, edit.borrowing);
  return next;
}

/** Manifests as documents; with a version each is changed only from that one. */
export function documentsOf(queues: readonly QueueManifest[], versions?: Readonly<Record<string, string>>): string {
  return queues
    .map(({ apiVersion, metadata, ...rest }) => {
      const { resourceVersion, ...own } = Object.fromEntries(Object.entries(metadata).filter(([name]) => !DERIVED.includes(name))) as QueueManifest["metadata"];
      const version = versions === undefined ? undefined : (versions[own.name] ?? resourceVersion);
      return stringify({ apiVersion, kind: "ClusterQueue", metadata: { ...own, ...(version && { resourceVersion: version }) }, spec: rest.spec });
    })
    .join("---\n");
}

export interface QuotaChange {
  key: string;
  words: string;
}

/** Each edit in words: "vision, a100: nominal 48 → 64 GPU". */
export function changesOf(queues: readonly QueueManifest[], edits: Edits): QuotaChange[] {
  return resourcesOf(queues).flatMap((resource) =>
    linesOf(queues, resource)
      .filter(({ key }) => key in edits)
      .flatMap((line) => {
        const { nominal, borrowing } = edits[line.key] ?? {};
        const parts: string[] = [];
        if (nominal !== undefined) parts.push(`nominal ${line.nominal} → ${nominal} ${unitOf(resource)}`);
        if (borrowing !== undefined) parts.push(`borrow up to ${line.borrowing ?? "no limit"} → ${borrowing ?? "no limit"}`);
        return parts.length === 0 ? [] : [{ key: line.key, words: `${line.queue}, ${line.flavor}: ${parts.join(", ")}` }];
      }),
  );
}

/** The largest amount that a slider reaches: twice the largest quota, or what hosts offer. */
export function sliderMaximum(lines: readonly QuotaLine[], offered: number): number {
  const largest = Math.max(1, offered, ...lines.map(({ nominal }) => nominal * 2));
  return Math.ceil(largest);
}

/** The position from which a sample is replayed, at the end of a log of this length. */
export function sampleStart(head: number): number {
  return Math.max(0, head - SAMPLE_EVENTS);
}
