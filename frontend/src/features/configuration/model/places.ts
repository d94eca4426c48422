// Values at places of a manifest's text: read, written and taken out, with comments and all else as they were.
import { type Document, isCollection, isMap, isScalar, isSeq, parseAllDocuments } from "yaml";

export type Place = readonly (string | number)[];

/** A value at a place as it is typed; empty where there is none. */
export function valueAt(text: string, place: Place): string {
  const found = documentOf(text)?.getIn(place);
  return typeof found === "string" || typeof found === "number" || typeof found === "boolean" ? String(found) : "";
}

/** Whether something is written at a place, be it empty. */
export function isWritten(text: string, place: Place): boolean {
  return documentOf(text)?.hasIn(place) ?? false;
}

/** The text with a value at a place; an empty one takes it out, with the maps that it leaves empty. */
export function withValue(text: string, place: Place, value: string | number | object): string {
  return changed(text, (document) => {
    if (value === "") removeAt(document, place);
    else setAt(document, place, value);
  });
}

/** The keys and values of a map, in their order. */
export function labelsAt(text: string, place: Place): [string, string][] {
  const found = documentOf(text)?.getIn(place, true);
  if (!isMap(found)) return [];
  return Object.entries(found.toJSON() as Record<string, string | number | null>).map(([key, value]) => [key, String(value ?? "")]);
}

/** The text with a whole map at a place; without labels the place is taken out, unless it is kept. */
export function withLabels(text: string, place: Place, labels: readonly [string, string][]): string {
  return withValue(text, place, labels.length === 0 ? "" : Object.fromEntries(labels));
}

/** The texts of a list. */
export function namesAt(text: string, place: Place): string[] {
  const found = documentOf(text)?.getIn(place, true);
  return isSeq(found) ? found.toJSON().map(String) : [];
}

/** The names in a text that commas and spaces part, each once. */
export function namesIn(typed: string): string[] {
  return [...new Set(typed.split(/[\s,]+/).filter((name) => name !== ""))];
}

/** The text with a list of names at a place; an empty list is taken out. */
export function withNames(text: string, place: Place, names: readonly string[]): string {
  return withValue(text, place, names.length === 0 ? "" : [...names]);
}

/** The number of records in a list. */
export function countAt(text: string, place: Place): number {
  const found = documentOf(text)?.getIn(place, true);
  return isSeq(found) ? found.items.length : 0;
}

/** The text with one more record in a list. */
export function withRow(text: string, place: Place, row: object): string {
  return changed(text, (document) => setAt(document, [...place, countAt(text, place)], row));
}

/** The text without a record of a list; the last one takes the list with it. */
export function withoutRow(text: string, place: Place, index: number): string {
  return changed(text, (document) => removeAt(document, [...place, index]));
}

/** Parses, changes and writes a single manifest; any other text stays as it is. */
export function changed(text: string, change: (document: Document) => void): string {
  const document = documentOf(text);
  if (document === null) return text;
  change(document);
  return document.toString({ lineWidth: 0 });
}

/** Writes a value; whatever stands above it that is not a collection becomes one. */
export function setAt(document: Document, place: Place, value: unknown): void {
  for (let length = 1; length < place.length; length += 1) {
    const above = place.slice(0, length);
    const found: unknown = document.getIn(above, true);
    const isEmpty = isCollection(found) && found.items.length === 0;
    // An empty collection is written as `{}` or `[]`: what is put into it starts a line of its own.
    if (found !== undefined && (!isCollection(found) || isEmpty)) document.setIn(above, document.createNode(typeof place[length] === "number" ? [] : {}));
  }
  const present: unknown = document.getIn(place, true);
  // What was empty had to be quoted, and is no more.
  if (isScalar(present) && typeof value !== "object" && present.value !== "") present.value = value;
  else document.setIn(place, document.createNode(value));
}

/** Takes a value out, and then what it leaves empty below `spec`. */
export function removeAt(document: Document, place: Place): void {
  if (!document.hasIn(place)) return;
  document.deleteIn(place);
  const above = place.slice(0, -1);
  const left: unknown = document.getIn(above, true);
  if (above.length > 1 && isCollection(left) && left.items.length === 0) removeAt(document, above);
}

/** The one manifest in a text; null where it is none, several, or not YAML. */
export function documentOf(text: string): Document | null {
  const documents = [...parseAllDocuments(text)];
  const [document] = documents;
  return document !== undefined && documents.length === 1 && document.errors.length === 0 && isMap(document.contents) ? document : null;
}

/** A place as a JSON pointer. */
export function pointerTo(place: Place): string {
  return place.map((step) => `/${String(step).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("");
}
