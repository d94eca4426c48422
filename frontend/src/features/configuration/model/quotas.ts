// Quota of a manifest as a form shows it: resource groups, their flavors, and the amounts of each resource.
import { isMap, isSeq } from "yaml";

import { byResource } from "@/lib/format/amounts";

import { changed, documentOf, type Place, removeAt, setAt } from "./places";

export const GROUPS = ["spec", "resourceGroups"] as const;

export type QuotaField = "nominalQuota" | "borrowingLimit" | "lendingLimit";

export interface QuotaRow {
  place: Place;
  resource: string;
  amounts: Record<QuotaField, string>;
}

export interface FlavorQuota {
  place: Place;
  name: string;
  rows: QuotaRow[];
}

export interface QuotaGroup {
  place: Place;
  resources: string[];
  flavors: FlavorQuota[];
}

interface Written {
  coveredResources?: unknown[];
  flavors?: { name?: unknown; resources?: ({ name?: unknown } & Partial<Record<QuotaField, unknown>>)[] }[];
}

/** Every group of a text; resources of a flavor with GPUs first. */
export function quotaGroups(text: string): QuotaGroup[] {
  const groups: unknown = documentOf(text)?.getIn(GROUPS, true);
  if (!isSeq(groups)) return [];
  return groups.items.map((group, index) => groupOf(isMap(group) ? (group.toJSON() as Written) : {}, [...GROUPS, index]));
}

function groupOf({ coveredResources, flavors }: Written, place: Place): QuotaGroup {
  return {
    place,
    resources: (coveredResources ?? []).map(textOf).sort(byResource),
    flavors: (flavors ?? []).map(({ name, resources }, index) => {
      const flavor = [...place, "flavors", index];
      const rows = (resources ?? []).map((one, number) => ({
        place: [...flavor, "resources", number],
        resource: textOf(one.name),
        amounts: { nominalQuota: textOf(one.nominalQuota), borrowingLimit: textOf(one.borrowingLimit), lendingLimit: textOf(one.lendingLimit) },
      }));
      return { place: flavor, name: textOf(name), rows: rows.sort((one, other) => byResource(one.resource, other.resource)) };
    }),
  };
}

/** The text with an amount; a limit that is emptied is taken out, as none is no limit. */
export function withAmount(text: string, row: QuotaRow, field: QuotaField, amount: string): string {
  return changed(text, (document) => {
    if (amount === "" && field !== "nominalQuota") removeAt(document, [...row.place, field]);
    else setAt(document, [...row.place, field], amount);
  });
}

/** The text with one more flavor in a group, with quota of 0 for each of its resources. */
export function withFlavor(text: string, group: QuotaGroup, name: string): string {
  return changed(text, (document) => setAt(document, [...group.place, "flavors", group.flavors.length], { name, resources: group.resources.map(noQuota) }));
}

/** The text without a flavor; the last one takes its group with it. */
export function withoutFlavor(text: string, group: QuotaGroup, flavor: FlavorQuota): string {
  return changed(text, (document) => removeAt(document, group.flavors.length === 1 ? group.place : flavor.place));
}

/** The text with one more resource in a group, with quota of 0 in each of its flavors. */
export function withResource(text: string, group: QuotaGroup, name: string): string {
  return changed(text, (document) => {
    setAt(document, [...group.place, "coveredResources", group.resources.length], name);
    for (const flavor of group.flavors) setAt(document, [...flavor.place, "resources", flavor.rows.length], noQuota(name));
  });
}

/** The text without a resource of a group; the last one takes its group with it. */
export function withoutResource(text: string, group: QuotaGroup, name: string): string {
  return changed(text, (document) => {
    if (group.resources.length === 1) {
      removeAt(document, group.place);
      return;
    }
    const covered: unknown = document.getIn([...group.place, "coveredResources"], true);
    const names = isSeq(covered) ? covered.toJSON().map(textOf) : [];
    removeAt(document, [...group.place, "coveredResources", names.indexOf(name)]);
    for (const flavor of group.flavors) {
      const row = flavor.rows.find(({ resource }) => resource === name);
      if (row !== undefined) removeAt(document, row.place);
    }
  });
}

/** The text with one more group: a flavor and its resources, each with quota of 0. */
export function withGroup(text: string, flavor: string, resources: readonly string[]): string {
  const group = { coveredResources: resources, flavors: [{ name: flavor, resources: resources.map(noQuota) }] };
  return changed(text, (document) => setAt(document, [...GROUPS, quotaGroups(text).length], group));
}

function noQuota(name: string): { name: string; nominalQuota: string } {
  return { name, nominalQuota: "0" };
}

function textOf(value: unknown): string {
  return typeof value === "string" || typeof value === "number" ? String(value) : "";
}
