// Forms of the common kinds: each field is a place in the manifest that form and editor share.
import { stringify } from "yaml";

import { documentOf, type Place, pointerTo } from "./places";

interface Field {
  place: Place;
  label: string;
  /** Set when the object is created, and never changed. */
  isFixed?: true;
}

export interface TextInput extends Field {
  input: "text" | "number";
  /** What holds where nothing is written. */
  usual?: string;
}

export interface ChoiceInput extends Field {
  input: "choice";
  choices: readonly string[];
  usual: string;
}

export interface ReferenceInput extends Field {
  input: "reference";
  /** The kind of the objects that can be named. */
  of: "ClusterQueue" | "Cohort" | "Topology";
  usual?: string;
}

/** A map of labels, a row for each. */
export interface LabelsInput extends Field {
  input: "labels";
}

export interface RowColumn {
  name: string;
  label: string;
  /** The first one is what a new row begins with; an empty one is no value. */
  choices?: readonly string[];
  /** The kind of the object that it names. */
  of?: "AdmissionCheck";
  /** The kind of the objects that it lists by name; none is all of them. */
  listOf?: "ResourceFlavor";
  number?: true;
}

/** A list of records, a row for each. */
export interface RowsInput extends Field {
  input: "rows";
  one: string;
  columns: readonly RowColumn[];
}

/** Namespaces: none, all, or those with some labels. */
export interface SelectorInput extends Field {
  input: "selector";
}

export interface QuotasInput extends Field {
  input: "quotas";
}

export type FormField = TextInput | ChoiceInput | ReferenceInput | LabelsInput | RowsInput | SelectorInput | QuotasInput;

export interface FormSection {
  title: string;
  fields: readonly FormField[];
}

const STOP = ["None", "Hold", "HoldAndDrain"] as const;
const NAME: FormField = { place: ["metadata", "name"], label: "Name", input: "text", isFixed: true };
const WEIGHT: FormField = { place: ["spec", "fairSharing", "weight"], label: "Fair sharing weight", input: "text", usual: "1" };
const STOPPED: FormField = { place: ["spec", "stopPolicy"], label: "Stop policy", input: "choice", choices: STOP, usual: "None" };
const QUOTAS: FormSection = { title: "Quota", fields: [{ place: ["spec", "resourceGroups"], label: "Quota", input: "quotas" }] };

export const FORMS: Readonly<Record<string, readonly FormSection[]>> = {
  ClusterQueue: [
    {
      title: "Queue",
      fields: [
        NAME,
        { place: ["spec", "cohortName"], label: "Cohort", input: "reference", of: "Cohort", usual: "none" },
        { place: ["spec", "queueingStrategy"], label: "Queueing strategy", input: "choice", choices: ["BestEffortFIFO", "StrictFIFO"], usual: "BestEffortFIFO" },
        STOPPED,
        WEIGHT,
        { place: ["spec", "namespaceSelector"], label: "Namespaces", input: "selector" },
      ],
    },
    QUOTAS,
    {
      title: "Preemption",
      fields: [
        { place: ["spec", "preemption", "withinClusterQueue"], label: "Within the ClusterQueue", input: "choice", choices: ["Never", "LowerPriority", "LowerOrNewerEqualPriority"], usual: "Never" },
        { place: ["spec", "preemption", "reclaimWithinCohort"], label: "Reclaim within the cohort", input: "choice", choices: ["Never", "LowerPriority", "Any"], usual: "Never" },
        { place: ["spec", "preemption", "borrowWithinCohort", "policy"], label: "While borrowing", input: "choice", choices: ["Never", "LowerPriority"], usual: "Never" },
      ],
    },
    {
      title: "Admission checks",
      fields: [
        {
          place: ["spec", "admissionChecksStrategy", "admissionChecks"],
          label: "Admission checks",
          input: "rows",
          one: "admission check",
          columns: [
            { name: "name", label: "AdmissionCheck", of: "AdmissionCheck" },
            { name: "onFlavors", label: "Only for flavors", listOf: "ResourceFlavor" },
          ],
        },
      ],
    },
  ],
  LocalQueue: [
    {
      title: "Queue",
      fields: [
        { place: ["metadata", "namespace"], label: "Namespace", input: "text", isFixed: true },
        NAME,
        { place: ["spec", "clusterQueue"], label: "ClusterQueue", input: "reference", of: "ClusterQueue", isFixed: true },
        STOPPED,
        WEIGHT,
      ],
    },
  ],
  Cohort: [
    { title: "Cohort", fields: [NAME, { place: ["spec", "parentName"], label: "Parent cohort", input: "reference", of: "Cohort", usual: "none" }, WEIGHT] },
    QUOTAS,
  ],
  ResourceFlavor: [
    { title: "Flavor", fields: [NAME, { place: ["spec", "topologyName"], label: "Topology", input: "reference", of: "Topology", usual: "none" }] },
    { title: "Node labels", fields: [{ place: ["spec", "nodeLabels"], label: "Node labels", input: "labels" }] },
    {
      title: "Node taints",
      fields: [
        {
          place: ["spec", "nodeTaints"],
          label: "Node taints",
          input: "rows",
          one: "taint",
          columns: [
            { name: "key", label: "Key" },
            { name: "value", label: "Value" },
            { name: "effect", label: "Effect", choices: ["NoSchedule", "NoExecute", "PreferNoSchedule"] },
          ],
        },
      ],
    },
    {
      title: "Tolerations",
      fields: [
        {
          place: ["spec", "tolerations"],
          label: "Tolerations",
          input: "rows",
          one: "toleration",
          columns: [
            { name: "key", label: "Key" },
            { name: "operator", label: "Operator", choices: ["Equal", "Exists"] },
            { name: "value", label: "Value" },
            { name: "effect", label: "Effect", choices: ["", "NoSchedule", "NoExecute", "PreferNoSchedule"] },
            { name: "tolerationSeconds", label: "Seconds", number: true },
          ],
        },
      ],
    },
  ],
  WorkloadPriorityClass: [
    {
      title: "Priority class",
      fields: [
        NAME,
        { place: ["value"], label: "Priority", input: "number" },
        { place: ["description"], label: "Description", input: "text" },
        { place: ["preemptionPolicy"], label: "Preemption policy", input: "choice", choices: ["PreemptLowerPriority", "Never"], usual: "PreemptLowerPriority" },
      ],
    },
  ],
};

const BEGINNINGS: Readonly<Record<string, object>> = {
  ClusterQueue: { metadata: { name: "" }, spec: { namespaceSelector: {}, resourceGroups: [] } },
  LocalQueue: { metadata: { name: "", namespace: "" }, spec: { clusterQueue: "" } },
  Cohort: { metadata: { name: "" }, spec: {} },
  ResourceFlavor: { metadata: { name: "" }, spec: {} },
  WorkloadPriorityClass: { metadata: { name: "" }, value: 0 },
};

/** The manifest that a form of a new object begins with; empty for kinds without a form. */
export function beginningOf(kind: string): string {
  const rest = BEGINNINGS[kind];
  return rest === undefined ? "" : stringify({ apiVersion: "kueue.x-k8s.io/v1beta2", kind, ...rest });
}

/** The kind of the one manifest in a text; undefined where the text is none, or several. */
export function formKindOf(text: string): string | undefined {
  const kind = documentOf(text)?.get("kind");
  return typeof kind === "string" && kind in FORMS ? kind : undefined;
}

/** Whether the form of a kind shows what a JSON pointer leads to. */
export function isOnForm(kind: string, pointer: string): boolean {
  const places = (FORMS[kind] ?? []).flatMap(({ fields }) => fields.map(({ place }) => pointerTo(place)));
  return places.some((place) => pointer === place || pointer.startsWith(`${place}/`));
}
