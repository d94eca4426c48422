// Where in a manifest a JSON pointer leads.
import { type Document, LineCounter, parseAllDocuments } from "yaml";

/** The steps of a JSON pointer (RFC 6901). */
export function stepsOf(pointer: string): string[] {
  return pointer.split("/").slice(1).map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** The line, from 1, of what a pointer leads to in a document, or of the nearest thing above it. */
export function lineIn(document: Document, lines: LineCounter, pointer: string): number | undefined {
  const path = stepsOf(pointer);
  for (let length = path.length; length >= 0; length -= 1) {
    const node = document.getIn(path.slice(0, length).map(asStep), true) as { range?: [number, number, number] | null } | undefined;
    if (node?.range) return lines.linePos(node.range[0]).line;
  }
  return undefined;
}

/** The same in a text of one document; undefined where it is none that can be read. */
export function lineOfPointer(text: string, pointer: string): number | undefined {
  const lines = new LineCounter();
  const documents = [...parseAllDocuments(text, { lineCounter: lines })];
  const [only] = documents;
  return documents.length === 1 && only?.contents ? lineIn(only, lines, pointer) : undefined;
}

function asStep(step: string): string | number {
  return /^\d+$/.test(step) ? Number(step) : step;
}
