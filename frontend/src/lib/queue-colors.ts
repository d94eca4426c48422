// The colors of ClusterQueues: six, which a queue keeps by its name on all pages; all others share one.

const SLOTS = 6;

/** The color of the queues that have none of their own. */
export const OTHER_QUEUES = "--queue-other";

/** How many queues have a color of their own. */
export const QUEUE_COLORS = SLOTS;

const kept = new Map<string, number>();

/** The color token of each of the first six names, the same one as before where no other of them has it. */
export function queueColors(names: readonly string[]): Map<string, string> {
  const slots = slotsOf(names.slice(0, SLOTS), kept);
  for (const [name, slot] of slots) kept.set(name, slot);
  return new Map([...slots].map(([name, slot]) => [name, `--queue-${slot + 1}`]));
}

/** A slot for each name: the known one where it is free, else the lowest free one, in order of the names. */
export function slotsOf(names: readonly string[], known: ReadonlyMap<string, number>): Map<string, number> {
  const ordered = [...names].sort((one, other) => one.localeCompare(other, "en", { numeric: true }));
  const taken = new Map<number, string>();
  for (const name of ordered) {
    const slot = known.get(name);
    if (slot !== undefined && !taken.has(slot)) taken.set(slot, name);
  }
  const placed = new Map([...taken].map(([slot, name]) => [name, slot]));
  const free = Array.from({ length: SLOTS }, (_, slot) => slot).filter((slot) => !taken.has(slot));
  return new Map(ordered.map((name) => [name, placed.get(name) ?? free.shift() ?? 0]));
}
