// The manifest of a workload as a text that a form and a person edit: each field is a place in it.
import { type Document, isCollection, parseDocument, stringify } from "yaml";

import type { WorkloadObject } from "@/lib/api/types";
import { quantityOf } from "@/lib/format/amounts";
import { stepsOf } from "@/lib/manifests/pointers";

export const GPU = "nvidia.com/gpu";
const API_VERSION = "kueue.x-k8s.io/v1beta2";
const SKELETON = { apiVersion: API_VERSION, kind: "Workload" };
const POD_SET = ["spec", "podSets", 0] as const;
const CONTAINER = [...POD_SET, "template", "spec", "containers", 0] as const;
const REQUESTS = [...CONTAINER, "resources", "requests"] as const;

type Place = readonly (string | number)[];

const PLACES = {
  namespace: ["metadata", "namespace"],
  name: ["metadata", "name"],
  queue: ["spec", "queueName"],
  priorityClass: ["spec", "priorityClassName"],
  maxSeconds: ["spec", "maximumExecutionTimeSeconds"],
  retries: ["spec", "retryPolicy", "limit"],
  pods: [...POD_SET, "count"],
  minPods: [...POD_SET, "minCount"],
  gpu: [...REQUESTS, GPU],
  cpu: [...REQUESTS, "cpu"],
  memory: [...REQUESTS, "memory"],
  required: [...POD_SET, "topologyRequest", "required"],
  preferred: [...POD_SET, "topologyRequest", "preferred"],
  image: [...CONTAINER, "image"],
  command: [...CONTAINER, "command"],
} satisfies Record<string, Place>;

export type FieldName = keyof typeof PLACES;
export type Fields = Record<FieldName, string>;

const NUMBERS: readonly FieldName[] = ["maxSeconds", "retries", "pods", "minPods"];
/** What goes with the last of its fields. */
const PARENTS: Partial<Record<FieldName, Place>> = {
  required: [...POD_SET, "topologyRequest"],
  preferred: [...POD_SET, "topologyRequest"],
  retries: ["spec", "retryPolicy"],
};

/** The fields that the text has; empty where it does not say. */
export function fieldsOf(text: string): Fields {
  const document = documentOf(text);
  const read = (place: Place): string => {
    const value = document === null ? undefined : document.getIn(place);
    if (value === undefined || value === null) return "";
    return isCollection(value) ? commandText(value.toJSON() as unknown) : typeof value === "string" || typeof value === "number" ? String(value) : "";
  };
  return Object.fromEntries(Object.entries(PLACES).map(([name, place]) => [name, read(place)])) as Fields;
}

/** The text with a field set, comments and all else as they were; an empty value takes it out. */
export function withField(text: string, name: FieldName, value: string): string {
  const document = documentOf(text.trim() === "" ? stringify(SKELETON) : text);
  if (document === null) return text;
  const place: Place = PLACES[name];
  if (value.trim() === "") {
    document.deleteIn(place);
    removeEmpty(document, PARENTS[name]);
  } else {
    document.setIn(place, name === "command" ? ["sh", "-c", value] : valueOf(name, value));
  }
  return document.toString();
}

function valueOf(name: FieldName, value: string): string | number {
  return NUMBERS.includes(name) && /^\d+$/.test(value.trim()) ? Number(value) : value.trim();
}

function removeEmpty(document: Document, place: Place | undefined): void {
  if (place === undefined) return;
  const found = document.getIn(place);
  if (isCollection(found) && found.items.length === 0) document.deleteIn(place);
}

function commandText(value: unknown): string {
  if (!Array.isArray(value)) return "";
  const words = value as string[];
  return words[0] === "sh" && words[1] === "-c" && words.length === 3 ? (words[2] ?? "") : words.join(" ");
}

function documentOf(text: string): Document | null {
  const document = parseDocument(text);
  return document.errors.length > 0 || !isCollection(document.contents) ? null : document;
}

/** What keeps the text from being read as YAML, and where; undefined where nothing does. */
export function syntaxError(text: string): { message: string; line: number | undefined } | undefined {
  const [error] = parseDocument(text).errors;
  return error && { message: error.message.split("\n")[0] ?? "", line: error.linePos?.[0].line };
}

/** The field that a problem's pointer is about, or something within it, if the form has it. */
export function fieldAt(pointer: string): FieldName | undefined {
  const steps = stepsOf(pointer);
  return (Object.entries(PLACES) as [FieldName, Place][]).find(([, place]) => place.every((step, index) => String(step) === steps[index]))?.[0];
}

/** The value of a field one step higher or lower; its unit stays, and it does not fall below the least. */
export function stepped(value: string, by: number, least: number): string {
  const found = /^(\d*)(\D*)$/.exec(value.trim());
  if (found === null) return value;
  return `${Math.max(least, Number(found[1]) + by)}${found[2] ?? ""}`;
}

const UNITS: Record<string, number> = { "": 1, s: 1, m: 60, h: 3600, d: 86_400 };

/** A length of time as people write it, such as `12 h` or `1 d 6 h`, in seconds; undefined where it is none. */
export function secondsOf(text: string): number | undefined {
  const parts = [...text.trim().matchAll(/(\d+)\s*([smhd]?)\s*/gy)];
  if (parts.length === 0 || parts.map(([all]) => all).join("") !== text.trim()) return undefined;
  return parts.reduce((sum, [, figure, unit]) => sum + Number(figure) * (UNITS[unit ?? ""] ?? 1), 0);
}

/** What all pods request together while they run, of GPUs or else of CPU; null where they request neither. */
export function demandOf(text: string): { resource: string; amount: number } | null {
  const manifest = documentOf(text)?.toJS() as { spec?: { podSets?: (PodSetText | null)[] } | null } | undefined;
  const sets = Array.isArray(manifest?.spec?.podSets) ? manifest.spec.podSets : [];
  for (const resource of [GPU, "cpu"]) {
    // While it is being typed, an entry of a list may be empty.
    const amount = sets.reduce((sum, each) => sum + (Number(each?.count) || 1) * perPod(each?.template, resource), 0);
    if (amount > 0) return { resource, amount };
  }
  return null;
}

interface PodSetText {
  count?: unknown;
  template?: { spec?: { containers?: ({ resources?: { requests?: Record<string, string | number> } | null } | null)[] } | null } | null;
}

function perPod(template: PodSetText["template"], resource: string): number {
  const containers = template?.spec?.containers;
  return Array.isArray(containers) ? containers.reduce((sum, each) => sum + quantityOf(each?.resources?.requests?.[resource] ?? "0"), 0) : 0;
}

/** What it uses at most, in words: all of it for as long as it may run. */
export function costOf(text: string): string {
  const demand = demandOf(text);
  if (demand === null) return "";
  const unit = demand.resource === GPU ? "GPU" : "CPU";
  const amount = `${figure(demand.amount)} ${unit}`;
  const seconds = Number(fieldsOf(text).maxSeconds);
  return seconds > 0 ? `${amount}, ${figure((demand.amount * seconds) / 3600)} ${unit}-h at most` : `${amount}, no run time limit`;
}

function figure(amount: number): string {
  return amount.toLocaleString("en", { maximumFractionDigits: 1 });
}

/** What one pod of the form requests, as the topology is asked about it; empty where it requests nothing. */
export function podRequest({ gpu, cpu, memory }: Fields): string {
  const requests: [string, string][] = [["cpu", cpu], ["memory", memory], [GPU, gpu]];
  return requests.filter(([, amount]) => /^[1-9]\d*(\.\d+)?(m|k|[KMGTP]i?)?$/.test(amount)).map(([name, amount]) => `${name}=${amount}`).join(",");
}

/** What is set of the steps of a JSON Patch, in the text. */
export function patched(text: string, patch: readonly { op: string; path: string; value?: unknown }[]): string {
  const document = documentOf(text);
  if (document === null) return text;
  for (const { op, path, value } of patch) {
    const place = stepsOf(path).map((step) => (/^\d+$/.test(step) ? Number(step) : step));
    if (op === "remove") document.deleteIn(place);
    else if (op !== "test") document.setIn(place, value);
  }
  return document.toString();
}

export interface Template {
  key: string;
  words: string;
  /** Absent where the manifest is the person's own. */
  spec?: { pods: number; gpu?: number; cpu: string; memory: string; minPods?: number; completions?: number };
}

export const TEMPLATES: readonly Template[] = [
  { key: "single-gpu", words: "Single GPU", spec: { pods: 1, gpu: 1, cpu: "8", memory: "64Gi" } },
  { key: "gang", words: "Multi-node gang", spec: { pods: 4, gpu: 8, cpu: "80", memory: "640Gi" } },
  { key: "sweep", words: "Sweep", spec: { pods: 4, completions: 16, gpu: 1, cpu: "8", memory: "64Gi" } },
  { key: "cpu", words: "CPU job", spec: { pods: 1, cpu: "4", memory: "16Gi" } },
  { key: "manifest", words: "From manifest" },
];

/** The manifest of a template in a LocalQueue (`namespace/name`). */
export function templateText({ key, spec }: Template, queue: string): string {
  if (spec === undefined) return "";
  const [namespace = "default", queueName = ""] = queue.split("/");
  const requests = { ...(spec.gpu && { [GPU]: String(spec.gpu) }), cpu: spec.cpu, memory: spec.memory };
  const podSet = {
    name: "main",
    count: spec.pods,
    ...(spec.completions && { completions: spec.completions }),
    template: { spec: { containers: [{ name: "main", resources: { requests } }], restartPolicy: "Never" } },
  };
  return stringify({ apiVersion: API_VERSION, kind: "Workload", metadata: { name: `${key}-1`, namespace }, spec: { queueName, podSets: [podSet] } });
}

/** The manifest of a workload once more, under the next name. */
export function againText({ apiVersion, kind, metadata, spec }: WorkloadObject): string {
  const { name, namespace, labels, annotations } = metadata;
  const { active: _active, ...rest } = spec;
  return stringify({ apiVersion, kind, metadata: { name: nextName(name), namespace, ...(labels && { labels }), ...(annotations && { annotations }) }, spec: rest });
}

/** A name with its number one higher, or with a number where it has none. */
export function nextName(name: string): string {
  const found = /^(.*?)(\d+)$/.exec(name);
  return found ? `${found[1] ?? ""}${Number(found[2]) + 1}` : `${name}-2`;
}

/** The command that submits the same, as far as its options go. */
export function commandOf(fields: Fields): string {
  const options: [string, string][] = [
    ["--name", fields.name],
    ["-n", fields.namespace],
    ["-q", fields.queue],
    ["--pods", fields.pods],
    ["--min-pods", fields.minPods],
    ["--gpu", fields.gpu],
    ["--cpu", fields.cpu],
    ["--memory", fields.memory],
    ["--priority-class", fields.priorityClass],
    ["--required-topology", fields.required],
    ["--preferred-topology", fields.preferred],
    ["--max-execution-seconds", fields.maxSeconds],
    ["--retries", fields.retries],
  ];
  return ["headgate submit", ...options.filter(([, value]) => value !== "").map(([option, value]) => `${option} ${value}`)].join(" ");
}
