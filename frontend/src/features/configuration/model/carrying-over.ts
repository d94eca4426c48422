// Somebody's changes to a text laid over what the text has become meanwhile, line by line.

/** Lines of the text that both began with, from `start` up to before `end`, and what stands there instead. */
interface Change {
  start: number;
  end: number;
  lines: string[];
}

/** What a person made of a text, with what others have made of it since; undefined where both changed the same lines. */
export function carriedOver(began: string, mine: string, now: string): string | undefined {
  const base = began.split("\n");
  const changes = unitedChanges(changesOf(base, mine.split("\n")), changesOf(base, now.split("\n")));
  if (changes === undefined) return undefined;
  const lines: string[] = [];
  let next = 0;
  for (const change of changes) {
    lines.push(...base.slice(next, change.start), ...change.lines);
    next = change.end;
  }
  return [...lines, ...base.slice(next)].join("\n");
}

/** The changes of both in order, each once; undefined if two of them are about the same place. */
function unitedChanges(mine: Change[], theirs: Change[]): Change[] | undefined {
  const others = theirs.filter((change) => !mine.some((own) => isSame(own, change)));
  if (others.some((change) => mine.some((own) => isAboutTheSame(own, change)))) return undefined;
  return [...mine, ...others].sort((left, right) => left.start - right.start || left.end - right.end);
}

function isSame(left: Change, right: Change): boolean {
  return left.start === right.start && left.end === right.end && left.lines.join("\n") === right.lines.join("\n");
}

function isAboutTheSame(left: Change, right: Change): boolean {
  return left.start === right.start || (left.start < right.end && right.start < left.end);
}

/** What was done to lines, in order: the fewest changes there are, by their longest common subsequence. */
function changesOf(base: string[], changed: string[]): Change[] {
  const common = commonAfter(base, changed);
  const changes: Change[] = [];
  let [at, to] = [0, 0];
  while (at < base.length || to < changed.length) {
    if (at < base.length && base[at] === changed[to]) {
      at += 1;
      to += 1;
      continue;
    }
    const open = changes.at(-1)?.end === at ? changes.at(-1) : undefined;
    const change = open ?? { start: at, end: at, lines: [] };
    if (open === undefined) changes.push(change);
    if (to < changed.length && (at === base.length || (common[at]?.[to + 1] ?? 0) >= (common[at + 1]?.[to] ?? 0))) {
      change.lines.push(changed[to] ?? "");
      to += 1;
    } else {
      at += 1;
      change.end = at;
    }
  }
  return changes;
}

/** How many lines the two still have in common from each pair of places on. */
function commonAfter(base: string[], changed: string[]): number[][] {
  const rows = Array.from({ length: base.length + 1 }, () => new Array<number>(changed.length + 1).fill(0));
  for (let at = base.length - 1; at >= 0; at -= 1) {
    const row = rows[at] ?? [];
    const below = rows[at + 1] ?? [];
    for (let to = changed.length - 1; to >= 0; to -= 1) {
      row[to] = base[at] === changed[to] ? (below[to + 1] ?? 0) + 1 : Math.max(below[to] ?? 0, row[to + 1] ?? 0);
    }
  }
  return rows;
}
