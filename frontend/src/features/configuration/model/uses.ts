// What uses an object, by kind, with the pages to read on.
import type { References } from "@/lib/api/types";
import { configurationAddress } from "@/lib/events";

export interface UserGroup {
  kind: string;
  users: { name: string; address: string }[];
}

/** The objects by kind, in the order given. */
export function groupsOf({ objects }: Pick<References, "objects">): UserGroup[] {
  const groups = new Map<string, UserGroup["users"]>();
  for (const { kind, namespace, name } of objects) {
    const key = namespace ? `${namespace}/${name}` : name;
    const users = groups.get(kind) ?? [];
    users.push({ name: key, address: configurationAddress(kind, key) });
    groups.set(kind, users);
  }
  return [...groups].map(([kind, users]) => ({ kind, users }));
}

/** The list of all workloads of a queue, pending ones among them; undefined for other kinds. */
export function listAddress(kind: string, key: string): string | undefined {
  const [namespace, name] = key.includes("/") ? [key.slice(0, key.indexOf("/")), key.slice(key.indexOf("/") + 1)] : ["", key];
  const filter = kind === "ClusterQueue" ? `clusterQueue:=${key}` : kind === "LocalQueue" ? `namespace:=${namespace} queue:=${name}` : "";
  return filter === "" ? undefined : `/workloads?${new URLSearchParams({ filter }).toString()}`;
}

/** Objects that are not named, as they belong to others or are too many. */
export function unnamedWords({ objects, objectCount }: Pick<References, "objects" | "objectCount">): string {
  const left = objectCount - objects.length;
  return left === 0 ? "" : `${left} more ${left === 1 ? "object" : "objects"}`;
}
