// The filter of the list as a text in the address: words such as `queue:main`, `gpu:>8`, `-phase:Failed` or `train`.
import { type FilterLanguage, type Suggestion, type TokenParts, partsIn, tokenOf, withToken as withOneMore } from "@/components/ui/filter-language";
import type { UrlState } from "@/lib/hooks/use-url";

export type FieldKind = "text" | "number" | "duration" | "phase" | "label";

export interface FilterField {
  name: string;
  kind: FieldKind;
  words: string;
  /** Whether the server counts its values, so that they can be suggested. */
  counted?: boolean;
}

export const FIELDS: readonly FilterField[] = [
  { name: "phase", kind: "phase", words: "Phase", counted: true },
  { name: "queue", kind: "text", words: "LocalQueue", counted: true },
  { name: "clusterQueue", kind: "text", words: "ClusterQueue", counted: true },
  { name: "owner", kind: "text", words: "Owner", counted: true },
  { name: "namespace", kind: "text", words: "Namespace", counted: true },
  { name: "gpu", kind: "number", words: "GPUs of all pods" },
  { name: "pods", kind: "number", words: "Pods" },
  { name: "priority", kind: "number", words: "Priority", counted: true },
  { name: "wait", kind: "duration", words: "Time not admitted" },
  { name: "run", kind: "duration", words: "Time admitted" },
  { name: "submitted", kind: "duration", words: "Time since submission" },
  { name: "ended", kind: "duration", words: "Time since the end" },
  { name: "label", kind: "label", words: "Label, as key=value" },
  { name: "name", kind: "text", words: "Part of the name" },
];

const WORD = /[^\s"]*"[^"]*"|\S+/g;
const NUMBER = /^(>=|<=|>|<|=)?-?\d{1,15}$/;
const DURATION = /^(>=|<=|>|<|=)?\d{1,15}[smhdw]?$/;

/** The words of a filter. */
export function tokensIn(text: string): string[] {
  return text.match(WORD) ?? [];
}

/** The filter with a word more, once; the opposite of the word goes. */
export function withToken(text: string, token: string): string {
  return withOneMore(LANGUAGE, tokensIn(text), token).join(" ");
}

/** The filter without a word. */
export function withoutToken(text: string, token: string): string {
  return tokensIn(text)
    .filter((known) => known !== token)
    .join(" ");
}

/** Whether the server would understand a value of a field as it stands. */
function isUnderstood(kind: FieldKind, value: string): boolean {
  if ((value.match(/"/g)?.length ?? 0) % 2 === 1) return false;
  if (kind === "number") return NUMBER.test(value);
  if (kind === "duration") return DURATION.test(value);
  return value !== "=";
}

/** The filter as a bar takes it. */
export const LANGUAGE: FilterLanguage = {
  fields: FIELDS.map(({ name, words, kind }) => ({ name, words, accepts: (value) => isUnderstood(kind, value) })),
  bare: "words",
  excludes: true,
};

/** A word taken apart. */
export function partsOf(token: string): TokenParts {
  return partsIn(LANGUAGE, token);
}

/** Whether the server would understand the word as it stands. */
export function isComplete(token: string): boolean {
  return tokenOf(LANGUAGE, token) !== undefined;
}

/** A value as a word of the filter takes it. */
export function exact(field: string, value: string): string {
  const text = /[\s"]/.test(value) ? `"${value.replaceAll('"', "")}"` : value;
  return field === "phase" || field === "priority" ? `${field}:${text}` : `${field}:=${text}`;
}

const STARTS: Partial<Record<FieldKind, string[]>> = { number: [">0", ">8", ">=64"], duration: [">5m", ">1h", "<24h"] };

/** First values of a field that the server does not count. */
export function startsOf({ excludes, field, value }: TokenParts): Suggestion[] {
  const known = FIELDS.find(({ name }) => name === field);
  const starts = known === undefined || known.counted ? [] : (STARTS[known.kind] ?? []);
  return starts.filter((start) => start.startsWith(value)).map((start) => ({ token: `${excludes ? "-" : ""}${field}:${start}`, words: known?.words ?? "" }));
}

const EARLIER: Record<string, (value: string) => string> = {
  phase: (value) => `phase:${value}`,
  namespace: (value) => exact("namespace", value),
  queue: (value) => `queue:${value}`,
  clusterQueue: (value) => exact("clusterQueue", value),
  name: (value) => value,
  owner: (value) => (value === "@me" ? "owner:me" : exact("owner", value)),
};

/** The filter in the address; parameters of other pages' links count as words. */
export function filterIn(url: Pick<UrlState, "get">): string {
  const words = Object.entries(EARLIER)
    .filter(([name]) => url.get(name) !== "")
    .map(([name, word]) => word(url.get(name)));
  return [...tokensIn(url.get("filter")), ...words].join(" ");
}

/** The change of the address that sets the filter. */
export function filterChange(filter: string): Record<string, string> {
  return { ...Object.fromEntries(Object.keys(EARLIER).map((name) => [name, ""])), filter };
}
