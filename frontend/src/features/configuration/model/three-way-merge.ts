// Merges a user's changes of a text with the changes made to it meanwhile, line by line.
import { diffIndices } from "node-diff3";

/** Lines of the base from `start` up to before `end`, and the lines that replace them. */
interface Change {
  start: number;
  end: number;
  lines: string[];
}

/**
 * The text with both changes; undefined where both changed the same lines differently. Changes of
 * neighbouring lines do not conflict, unlike in diff3: fields of a manifest stand on lines of their own.
 */
export function threeWayMerge(base: string, mine: string, theirs: string): string | undefined {
  const lines = base.split("\n");
  const changes = unitedChanges(changesOf(lines, mine.split("\n")), changesOf(lines, theirs.split("\n")));
  if (changes === undefined) return undefined;
  const merged: string[] = [];
  let next = 0;
  for (const change of changes) {
    merged.push(...lines.slice(next, change.start), ...change.lines);
    next = change.end;
  }
  return [...merged, ...lines.slice(next)].join("\n");
}

function changesOf(base: string[], changed: string[]): Change[] {
  return diffIndices(base, changed).map(({ buffer1: [start, length], buffer2Content }) => ({ start, end: start + length, lines: buffer2Content }));
}

/** The changes of both in order, each once; undefined if two of them are about the same lines. */
function unitedChanges(mine: Change[], theirs: Change[]): Change[] | undefined {
  const others = theirs.filter((change) => !mine.some((own) => isSame(own, change)));
  if (others.some((change) => mine.some((own) => overlaps(own, change)))) return undefined;
  return [...mine, ...others].sort((left, right) => left.start - right.start || left.end - right.end);
}

function isSame(left: Change, right: Change): boolean {
  return left.start === right.start && left.end === right.end && left.lines.join("\n") === right.lines.join("\n");
}

function overlaps(left: Change, right: Change): boolean {
  return left.start === right.start || (left.start < right.end && right.start < left.end);
}
