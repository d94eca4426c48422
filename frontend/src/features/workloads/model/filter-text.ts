// The filter of the list as a text in the address: words such as `queue:main`, `gpu:>8`, `-phase:Failed` or `train`.
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
  const opposite = token.startsWith("-") ? token.slice(1) : `-${token}`;
  const others = tokensIn(text).filter((known) => known !== token && known !== opposite);
  return [...others, token].join(" ");
}

/** The filter without a word. */
export function withoutToken(text: string, token: string): string {
  return tokensIn(text)
    .filter((known) => known !== token)
    .join(" ");
}

export interface TokenParts {
  excludes: boolean;
  /** Empty for a word without a field. */
  field: string;
  value: string;
}

/** A word taken apart. */
export function partsOf(token: string): TokenParts {
  const excludes = token.startsWith("-") && token.length > 1;
  const rest = excludes ? token.slice(1) : token;
  const colon = rest.indexOf(":");
  return colon < 0 ? { excludes, field: "", value: rest } : { excludes, field: rest.slice(0, colon), value: rest.slice(colon + 1) };
}

/** Whether the server would understand the word as it stands. */
export function isComplete(token: string): boolean {
  const { field, value } = partsOf(token);
  if (field === "") return value !== "" && !token.endsWith(":");
  const known = FIELDS.find(({ name }) => name === field);
  if (known === undefined || value === "" || (value.match(/"/g)?.length ?? 0) % 2 === 1) return false;
  if (known.kind === "number") return NUMBER.test(value);
  if (known.kind === "duration") return DURATION.test(value);
  return value !== "=";
}

/** A value as a word of the filter takes it. */
export function exact(field: string, value: string): string {
  const text = /[\s"]/.test(value) ? `"${value.replaceAll('"', "")}"` : value;
  return field === "phase" || field === "priority" ? `${field}:${text}` : `${field}:=${text}`;
}

const STARTS: Partial<Record<FieldKind, string[]>> = { number: [">0", ">8", ">=64"], duration: [">5m", ">1h", "<24h"] };

/** What may be written next: fields for the beginning of a name, first values of a field that is not counted. */
export function nextWords(draft: string): { token: string; words: string }[] {
  const { excludes, field, value } = partsOf(draft);
  const sign = excludes ? "-" : "";
  if (field === "") {
    return FIELDS.filter(({ name }) => name.toLowerCase().startsWith(value.toLowerCase())).map(({ name, words }) => ({ token: `${sign}${name}:`, words }));
  }
  const known = FIELDS.find(({ name }) => name === field);
  const starts = known === undefined || known.counted ? [] : (STARTS[known.kind] ?? []);
  return starts.filter((start) => start.startsWith(value)).map((start) => ({ token: `${sign}${field}:${start}`, words: known?.words ?? "" }));
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
