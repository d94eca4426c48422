// The manifest of a workload as a text that a form and a person edit: each field is a place in it.
import { type Document, isCollection, parseDocument, stringify } from "yaml";

import type { WorkloadObject } from "@/lib/api/types";

export const GPU = "nvidia.com/gpu";
const API_VERSION = "kueue.x-k8s.io/v1beta2";
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

const NUMBERS: readonly FieldName[] = ["maxSeconds", "pods", "minPods"];

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
  const document = documentOf(text);
  if (document === null) return text;
  const place: Place = PLACES[name];
  if (value.trim() === "") {
    document.deleteIn(place);
    if (name === "required" || name === "preferred") removeEmpty(document, [...POD_SET, "topologyRequest"]);
  } else {
    document.setIn(place, name === "command" ? ["sh", "-c", value] : valueOf(name, value));
  }
  return document.toString();
}

function valueOf(name: FieldName, value: string): string | number {
  return NUMBERS.includes(name) && /^\d+$/.test(value.trim()) ? Number(value) : value.trim();
}

function removeEmpty(document: Document, place: Place): void {
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

/** What keeps the text from being read as YAML; empty where nothing does. */
export function syntaxError(text: string): string {
  const document = parseDocument(text);
  return document.errors[0]?.message.split("\n")[0] ?? "";
}

/** The field that a problem's pointer is about, if the form has it. */
export function fieldAt(pointer: string): FieldName | undefined {
  const steps = pointer.split("/").slice(1).map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
  return (Object.entries(PLACES) as [FieldName, Place][]).find(([, place]) => place.map(String).join("\n") === steps.join("\n"))?.[0];
}

/** What is set of the steps of a JSON Patch, in the text. */
export function patched(text: string, patch: readonly { op: string; path: string; value?: unknown }[]): string {
  const document = documentOf(text);
  if (document === null) return text;
  for (const { op, path, value } of patch) {
    const place = path.split("/").slice(1).map((step) => (/^\d+$/.test(step) ? Number(step) : step.replaceAll("~1", "/").replaceAll("~0", "~")));
    if (op === "remove") document.deleteIn(place);
    else if (op !== "test") document.setIn(place, value);
  }
  return document.toString();
}

export interface Template {
  key: string;
  words: string;
  spec: { pods: number; gpu?: number; cpu: string; memory: string; minPods?: number; completions?: number };
}

export const TEMPLATES: readonly Template[] = [
  { key: "single-gpu", words: "Single GPU", spec: { pods: 1, gpu: 1, cpu: "8", memory: "64Gi" } },
  { key: "gang", words: "Multi-node gang", spec: { pods: 4, gpu: 8, cpu: "80", memory: "640Gi" } },
  { key: "sweep", words: "Sweep", spec: { pods: 4, completions: 16, gpu: 1, cpu: "8", memory: "64Gi" } },
  { key: "cpu", words: "CPU job", spec: { pods: 1, cpu: "4", memory: "16Gi" } },
];

/** The manifest of a template in a LocalQueue (`namespace/name`). */
export function templateText({ key, spec }: Template, queue: string): string {
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
  ];
  return ["headgate submit", ...options.filter(([, value]) => value !== "").map(([option, value]) => `${option} ${value}`)].join(" ");
}
