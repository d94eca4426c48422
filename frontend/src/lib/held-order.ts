// The order of a list as it was at a moment, with what came later behind it.
export interface Held {
  /** What was asked for: filter, groups and order. */
  asked: string;
  keys: readonly string[];
  /** When the server gave this order. */
  at: number;
}

/** What is held, with keys behind it that it does not have; what is given where nothing is held. */
export function extendedBy(held: Held | null, given: Held): Held {
  if (held === null) return given;
  const known = new Set(held.keys);
  const later = given.keys.filter((key) => !known.has(key));
  return later.length === 0 ? held : { ...held, keys: [...held.keys, ...later] };
}

/** Whether the keys that are left stand in another order now. */
export function isBehind({ keys }: Held, now: readonly string[]): boolean {
  const left = new Set(now);
  const stays = keys.filter((key) => left.has(key));
  return stays.some((key, place) => key !== now[place]);
}

/** The place of each key. */
export function placesOf({ keys }: Held): ReadonlyMap<string, number> {
  return new Map(keys.map((key, place) => [key, place]));
}

/** Items in the order that is held, or as given where none is. */
export function inHeldOrder<Item>(items: readonly Item[], keyOf: (item: Item) => string, places: ReadonlyMap<string, number> | null): Item[] {
  if (places === null) return [...items];
  const placeOf = (item: Item) => places.get(keyOf(item)) ?? places.size;
  return items.toSorted((one, other) => placeOf(one) - placeOf(other));
}
