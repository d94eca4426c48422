// What may be typed at a place of a manifest, from the API's own description of its kinds.

export interface Description {
  $ref?: string;
  type?: string;
  description?: string;
  properties?: Record<string, Description>;
  items?: Description;
  oneOf?: Description[];
  anyOf?: Description[];
  enum?: unknown[];
  const?: unknown;
}

export type Descriptions = Record<string, Description>;

export interface Suggestion {
  label: string;
  kind: "field" | "value";
  info: string;
}

const REFERENCE = "#/components/schemas/";
const SEPARATOR = /^---/;
const KEY = /^(\s*)((?:- )*)([\w./-]+):/;
const KIND = /^kind:\s*(\w+)/m;
const TOP = ["apiVersion", "kind", "metadata", "spec"];

/** Fields that may stand at an offset of a text, or values of the field on its line. */
export function suggestionsAt(text: string, offset: number, descriptions: Descriptions): Suggestion[] {
  const before = text.slice(0, offset).split("\n");
  const current = before.at(-1) ?? "";
  const start = before.findLastIndex((line) => SEPARATOR.test(line)) + 1;
  const kind = KIND.exec(documentAround(text, offset))?.[1] ?? "";
  const whole = descriptions[`${kind}Object`];
  const key = KEY.exec(current);
  const above = before.slice(start, -1);
  if (key?.[3] !== undefined) {
    if (key[3] === "kind" && key[1] === "") return kindsOf(descriptions);
    const field = at(descriptions, whole, [...pathAbove(above, (key[1] ?? "").length + (key[2] ?? "").length), key[3]]);
    return valuesOf(field);
  }
  const indent = /^[\s-]*/.exec(current)?.[0].length ?? 0;
  const path = pathAbove(above, indent, current.trimStart().startsWith("-"));
  const found = at(descriptions, whole, path);
  const fields = Object.entries(found?.properties ?? {}).filter(([name]) => path.length > 0 || TOP.includes(name));
  return fields.map(([label, { description = "" }]) => ({ label, kind: "field", info: description }));
}

/** The keys that enclose a line of an indentation, outermost first; items of lists count as what they are in. */
export function pathAbove(lines: string[], indent: number, startsItem = false): string[] {
  const path: string[] = [];
  let limit = startsItem ? indent - 1 : indent;
  for (const line of [...lines].reverse()) {
    const match = KEY.exec(line);
    if (match === null) continue;
    const [, spaces = "", dashes = "", key = ""] = match;
    const content = spaces.length + dashes.length;
    if (content < limit) {
      path.unshift(key);
      limit = content;
    }
    // The first line of the item that the line is in: what holds the list stands no deeper than its dash.
    if (dashes !== "" && content <= limit) limit = spaces.length + 1;
  }
  return path;
}

/** What the API says of a field of a kind, as plain text; empty where it says nothing. */
export function describedAt(descriptions: Descriptions, kind: string, place: readonly (string | number)[]): string {
  const path = place.filter((step) => typeof step === "string");
  const holder = at(descriptions, descriptions[`${kind}Object`], path.slice(0, -1));
  return (holder?.properties?.[path.at(-1) ?? ""]?.description ?? "").replaceAll("`", "");
}

function at(descriptions: Descriptions, whole: Description | undefined, path: string[]): Description | undefined {
  return path.reduce((found, name) => resolved(descriptions, resolved(descriptions, found)?.properties?.[name]), resolved(descriptions, whole));
}

/** What a description is about: references are followed, an item stands for its list, null is left out. */
function resolved(descriptions: Descriptions, found: Description | undefined): Description | undefined {
  if (found === undefined) return undefined;
  if (found.$ref) return resolved(descriptions, descriptions[found.$ref.slice(REFERENCE.length)]);
  const choices = (found.oneOf ?? found.anyOf ?? []).filter(({ type }) => type !== "null");
  if (choices[0] !== undefined) return resolved(descriptions, choices[0]);
  return found.items ? resolved(descriptions, found.items) : found;
}

function valuesOf(field: Description | undefined): Suggestion[] {
  const values = field?.enum ?? (field?.type === "boolean" ? [true, false] : []);
  return values.map((value) => ({ label: String(value), kind: "value", info: "" }));
}

function kindsOf(descriptions: Descriptions): Suggestion[] {
  return Object.values(descriptions)
    .map(({ properties }) => properties?.["kind"]?.const)
    .filter((kind) => typeof kind === "string")
    .map((label) => ({ label, kind: "value", info: "" }));
}

function documentAround(text: string, offset: number): string {
  const from = text.lastIndexOf("\n---", offset - 1) + 1;
  const to = text.indexOf("\n---", offset);
  return text.slice(from, to < 0 ? undefined : to);
}
