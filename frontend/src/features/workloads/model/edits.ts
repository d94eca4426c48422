// Edits that end a constraint: applied to a manifest, shown as a difference, and what a simulation says of them.
import type { Foreseen, Simulation, SpecEdit } from "@/lib/api/types";

type Json = unknown;

export interface Change {
  path: string;
  before: string | null;
  after: string | null;
}

/** A manifest with the edit in it; throws where a tested value is another one. */
export function edited(manifest: Json, { patch }: Pick<SpecEdit, "patch">): Json {
  const copy: Json = structuredClone(manifest);
  for (const step of patch) {
    const parts = partsOf(step.path);
    const last = parts.pop() ?? "";
    const parent = parts.reduce((value: Json, part) => (value as Record<string, Json> | undefined)?.[part], copy) as Record<string, Json> | undefined;
    if (parent === undefined) throw new Error(`The manifest has no ${step.path}`);
    if (step.op === "test") {
      if (parent[last] !== step.value) throw new Error(`${step.path} has changed meanwhile`);
    } else if (step.op === "remove") {
      Reflect.deleteProperty(parent, last);
    } else {
      parent[last] = step.value;
    }
  }
  return copy;
}

/** The fields that the edit changes, before and after. */
export function changesOf(manifest: Json, edit: Pick<SpecEdit, "patch">): Change[] {
  return edit.patch
    .filter(({ op }) => op !== "test")
    .map(({ op, path, value }) => ({ path: path.slice(1).replaceAll("/", ".").replaceAll("~1", "/"), before: textAt(manifest, path), after: op === "remove" ? null : textOf(value) }));
}

function partsOf(path: string): string[] {
  return path.split("/").slice(1).map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
}

function textAt(manifest: Json, path: string): string | null {
  const value = partsOf(path).reduce((found: Json, part) => (found as Record<string, Json> | undefined)?.[part], manifest);
  return value === undefined ? null : textOf(value);
}

function textOf(value: Json): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

export interface Result {
  words: string;
  good: boolean;
}

/** What a simulation says of one workload. */
export function resultOf({ workloads, effects }: Simulation, key: string): Result {
  const found: Foreseen | undefined = workloads.find(({ workload }) => workload === key);
  const effect = effects.find(({ workload }) => workload === key);
  if (found === undefined) return effect?.what === "Starts" ? { words: "Starts now", good: true } : { words: "Stays pending", good: false };
  const victims = found.victims?.length ?? 0;
  if (found.verdict === "Admitted") return { words: "Starts now", good: true };
  if (found.verdict === "MakesRoom") return { words: `Starts after preempting ${victims} ${victims === 1 ? "workload" : "workloads"}`, good: true };
  return { words: `Stays pending: ${found.sentence}`, good: false };
}

/** A request for the edit, for users without the role: "Raise quota of vision by 192 GPU, so that team-a/train can start (needs admin)". */
export function requestWords({ text, requires }: Pick<SpecEdit, "text" | "requires">, workload: string): string {
  return `${text}, so that ${workload} can start (needs the role ${requires})`;
}
