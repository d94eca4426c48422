// Manifests as people edit them, and where in them something is wrong.
import { isMap, LineCounter, parseAllDocuments, stringify } from "yaml";

import type { Problem } from "@/lib/api/problem";
import type { ApplyResults } from "@/lib/api/types";
import { lineIn } from "@/lib/manifests/pointers";

export interface Manifest {
  apiVersion?: string;
  kind: string;
  metadata: { name: string; namespace?: string; resourceVersion?: string; labels?: object; annotations?: object };
  spec?: object;
  [field: string]: unknown;
}

export interface Issue {
  severity: "error" | "warning" | "note";
  /** The line it is about, from 1; undefined where it is about no place of the text. */
  line: number | undefined;
  subject: string;
  pointer: string;
  message: string;
  remedy: string;
}

interface Subject {
  kind: string;
  namespace?: string;
  name: string;
}

const DERIVED = ["uid", "generation", "creationTimestamp", "deletionTimestamp"];

/** The fields of an object that a user wrote; its resourceVersion stays, so that nothing newer is overwritten. */
export function documentOf(manifest: Manifest): string {
  const { apiVersion, kind, metadata, ...parts } = manifest;
  delete parts["status"];
  const kept = Object.fromEntries(Object.entries(metadata).filter(([name]) => !DERIVED.includes(name)));
  return stringify({ apiVersion, kind, metadata: kept, ...parts });
}

/** How an object is addressed among those of its kind. */
export function keyOf({ metadata }: Manifest): string {
  return metadata.namespace ? `${metadata.namespace}/${metadata.name}` : metadata.name;
}

/** The stream of an object. */
export function streamOf(kind: string, key: string): string {
  return `${kind.toLowerCase()}/${key}`;
}

/** Everything that is wrong with a text or most likely not meant, in order of its lines. */
export function issuesOf(text: string, found: ApplyResults): Issue[] {
  const broken = found.results.flatMap((result) => (result.problem ? issuesOfProblem(text, result.problem, result) : []));
  const advised = (found.warnings ?? []).map((advice) => ({
    severity: advice.severity === "note" ? ("note" as const) : ("warning" as const),
    line: lineOf(text, advice, advice.pointer),
    subject: `${advice.kind} ${advice.name}`,
    pointer: advice.pointer,
    message: advice.message,
    remedy: advice.remedy,
  }));
  return [...broken, ...advised].sort((one, other) => (one.line ?? Infinity) - (other.line ?? Infinity) || 0);
}

/** The issues of a text: each violation at its line, or one for the whole text. */
export function issuesOfProblem(text: string, problem: Problem | NonNullable<ApplyResults["results"][number]["problem"]>, subject?: Subject): Issue[] {
  const words = subject === undefined ? "" : `${subject.kind} ${subject.name}`;
  const issue = (pointer: string, message: string, remedy: string): Issue => ({
    severity: "error",
    line: lineOf(text, subject, pointer),
    subject: words,
    pointer,
    message,
    remedy,
  });
  const errors = problem.errors ?? [];
  if (errors.length === 0) return [issue("", problem.detail ?? "", problem.remedy ?? "")];
  return errors.map((one) => issue(one.pointer, one.rule, one.remedy ?? ""));
}

/** The effect of each object, in a sentence. */
export function outcomeWords({ results }: ApplyResults): string {
  const count = (outcome: string) => results.filter((result) => result.outcome === outcome).length;
  const parts = (["created", "changed", "unchanged", "rejected"] as const)
    .filter((outcome) => count(outcome) > 0)
    .map((outcome) => `${count(outcome)} ${outcome === "unchanged" || outcome === "rejected" ? outcome : `would be ${outcome}`}`);
  return parts.join(", ");
}

/** The line, from 1, of what a JSON pointer leads to in the document of a subject, or of the nearest thing above it. */
export function lineOf(text: string, subject: Subject | undefined, pointer: string): number | undefined {
  const lines = new LineCounter();
  const documents = [...parseAllDocuments(text, { lineCounter: lines })];
  const whole = documents.length === 1 ? documents[0] : undefined;
  const document = subject === undefined ? whole : documents.find((one) => isAbout(one.toJS() as Partial<Manifest> | null, subject));
  if (document === undefined || !isMap(document.contents)) return undefined;
  return lineIn(document, lines, pointer);
}

function isAbout(manifest: Partial<Manifest> | null, subject: Subject): boolean {
  if (manifest === null) return false;
  const { name, namespace } = manifest.metadata ?? {};
  return manifest.kind === subject.kind && name === subject.name && (namespace ?? "") === (subject.namespace ?? "");
}
