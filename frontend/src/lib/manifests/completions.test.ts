import { expect, test } from "vitest";

import { type Descriptions, pathAbove, suggestionsAt } from "./completions";

const DESCRIPTIONS: Descriptions = {
  ClusterQueueObject: {
    properties: {
      apiVersion: { type: "string" },
      kind: { type: "string", const: "ClusterQueue" },
      metadata: {},
      spec: { $ref: "#/components/schemas/ClusterQueueSpec" },
      status: {},
    },
  },
  ClusterQueueSpec: {
    properties: {
      queueingStrategy: { type: "string", enum: ["StrictFIFO", "BestEffortFIFO"], description: "The order." },
      resourceGroups: { type: "array", items: { $ref: "#/components/schemas/ResourceGroup" } },
      fairSharing: { oneOf: [{ $ref: "#/components/schemas/FairSharing" }, { type: "null" }] },
    },
  },
  ResourceGroup: { properties: { coveredResources: {}, flavors: { type: "array", items: { $ref: "#/components/schemas/FlavorQuotas" } } } },
  FlavorQuotas: { properties: { name: {}, resources: {} } },
  FairSharing: { properties: { weight: {} } },
};

const labelsAt = (text: string) => suggestionsAt(text, text.length, DESCRIPTIONS).map(({ label }) => label);

test("fields of the kind are offered below spec, with their meaning", () => {
  const text = "kind: ClusterQueue\nspec:\n  ";
  expect(labelsAt(text)).toEqual(["queueingStrategy", "resourceGroups", "fairSharing"]);
  expect(suggestionsAt(text, text.length, DESCRIPTIONS)[0]?.info).toBe("The order.");
});

test("status is not offered: it is derived", () => {
  expect(labelsAt("kind: ClusterQueue\n")).toEqual(["apiVersion", "kind", "metadata", "spec"]);
});

test("items of lists and what may be null are looked through", () => {
  expect(labelsAt("kind: ClusterQueue\nspec:\n  resourceGroups:\n    - coveredResources: [cpu]\n      flavors:\n        - name: a\n          ")).toEqual(["name", "resources"]);
  expect(labelsAt("kind: ClusterQueue\nspec:\n  resourceGroups:\n  - ")).toEqual(["coveredResources", "flavors"]);
  expect(labelsAt("kind: ClusterQueue\nspec:\n  fairSharing:\n    ")).toEqual(["weight"]);
});

test("values of a choice are offered after its field, and kinds after kind", () => {
  expect(labelsAt("kind: ClusterQueue\nspec:\n  queueingStrategy: ")).toEqual(["StrictFIFO", "BestEffortFIFO"]);
  expect(labelsAt("kind: ")).toEqual(["ClusterQueue"]);
});

test("each document of a text has a kind of its own", () => {
  expect(labelsAt("kind: Other\nspec:\n  x: 1\n---\nkind: ClusterQueue\nspec:\n  fairSharing:\n    ")).toEqual(["weight"]);
  expect(labelsAt("kind: ClusterQueue\n---\nkind: Other\nspec:\n  ")).toEqual([]);
});

test("a sibling before the line does not enclose it", () => {
  expect(pathAbove(["spec:", "  a:", "    b: 1", "  c: 2"], 2)).toEqual(["spec"]);
});
