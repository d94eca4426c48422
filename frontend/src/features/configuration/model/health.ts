// How the objects of a kind are: what lint advises about each, and its last change.
import type { Advice, Revision } from "@/lib/api/types";

export interface Health {
  severity: "none" | "warning" | "note";
  words: string;
  messages: string[];
}

export interface ObjectState {
  key: string;
  health: Health;
  change: { at: string; by: string; reason: string } | undefined;
}

/** The state of each object; one with warnings first, then those with notes, else in the order given. */
export function statesOf(kind: string, keys: readonly string[], advice: readonly Advice[] = [], changes: readonly Revision[] = []): ObjectState[] {
  const states = keys.map((key) => {
    const own = advice.filter((one) => one.kind === kind && keyOf(one) === key);
    // Changes are read newest first.
    const last = changes.find((one) => one.kind === kind && keyOf(one) === key);
    return { key, health: healthOf(own), change: last && { at: last.at, by: last.actor.replace(/^user:/, ""), reason: last.reason ?? "" } };
  });
  return states.sort((one, other) => rank(one) - rank(other));
}

function keyOf({ namespace, name }: { namespace?: string; name: string }): string {
  return namespace ? `${namespace}/${name}` : name;
}

function healthOf(advice: readonly Advice[]): Health {
  const warnings = advice.filter(({ severity }) => severity !== "note").length;
  const messages = advice.map(({ message }) => message);
  if (warnings > 0) return { severity: "warning", words: counted(warnings, "warning"), messages };
  return advice.length > 0 ? { severity: "note", words: counted(advice.length, "note"), messages } : { severity: "none", words: "OK", messages };
}

function counted(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}

function rank({ health: { severity } }: ObjectState): number {
  return severity === "warning" ? 0 : severity === "note" ? 1 : 2;
}
