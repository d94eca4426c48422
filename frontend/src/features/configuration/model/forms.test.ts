import { describe, expect, it } from "vitest";

import { beginningOf, formKindOf, FORMS, isOnForm } from "./forms";
import { isWritten, labelsAt, namesAt, namesIn, valueAt, withLabels, withNames, withoutRow, withRow, withValue } from "./places";
import { type FlavorQuota, type QuotaGroup, quotaGroups, type QuotaRow, withAmount, withFlavor, withGroup, withoutFlavor, withoutResource, withResource } from "./quotas";

const QUEUE = `apiVersion: kueue.x-k8s.io/v1beta2
kind: ClusterQueue
metadata:
  name: vision
spec:
  # Shared with robotics.
  cohortName: research
  namespaceSelector: {}
  resourceGroups:
    - coveredResources:
        - cpu
        - nvidia.com/gpu
      flavors:
        - name: a100
          resources:
            - name: cpu
              nominalQuota: "576"
            - name: nvidia.com/gpu
              nominalQuota: 48
`;
const COHORT = ["spec", "cohortName"];

function first<Item>(items: readonly Item[]): Item {
  const [item] = items;
  if (item === undefined) throw new Error("There is none");
  return item;
}

const group = (text: string): QuotaGroup => first(quotaGroups(text));
const flavor = (text: string): FlavorQuota => first(group(text).flavors);
const row = (text: string): QuotaRow => first(flavor(text).rows);

describe("fields of a form", () => {
  it("read and write one place; comments and all else stay", () => {
    expect(valueAt(QUEUE, COHORT)).toBe("research");
    expect(withValue(QUEUE, COHORT, "campus")).toBe(QUEUE.replace("cohortName: research", "cohortName: campus"));
  });

  it("make the maps above a value, and take them out with it", () => {
    const policy = ["spec", "preemption", "borrowWithinCohort", "policy"];
    const written = withValue(QUEUE, policy, "LowerPriority");
    expect(valueAt(written, policy)).toBe("LowerPriority");
    expect(withValue(written, policy, "")).toBe(QUEUE);
  });

  it("begin where nothing but a key stands", () => {
    expect(withValue("kind: Cohort\nspec:\n", ["spec", "parentName"], "campus")).toBe("kind: Cohort\nspec:\n  parentName: campus\n");
    expect(withValue(beginningOf("Cohort"), ["metadata", "name"], "research")).toContain("name: research\n");
  });

  it("tell no namespaces from all", () => {
    expect(isWritten(QUEUE, ["spec", "namespaceSelector"])).toBe(true);
    expect(isWritten(withValue(QUEUE, ["spec", "namespaceSelector"], ""), ["spec", "namespaceSelector"])).toBe(false);
  });

  it("edit labels and rows", () => {
    const place = ["spec", "nodeLabels"];
    const labelled = withLabels(beginningOf("ResourceFlavor"), place, [["gpu", "a100"]]);
    expect(labelsAt(labelled, place)).toEqual([["gpu", "a100"]]);
    expect(labelsAt(withLabels(labelled, place, []), place)).toEqual([]);
    const taints = ["spec", "nodeTaints"];
    const tainted = withRow(labelled, taints, { key: "gpu", effect: "NoSchedule" });
    expect(valueAt(tainted, [...taints, 0, "effect"])).toBe("NoSchedule");
    expect(withoutRow(tainted, taints, 0)).toBe(labelled);
  });

  it("edit admission checks with their flavors, and tolerations", () => {
    const checks = ["spec", "admissionChecksStrategy", "admissionChecks"];
    const checked = withRow(QUEUE, checks, { name: "budget" });
    const limited = withNames(checked, [...checks, 0, "onFlavors"], namesIn("a100, h100 a100,"));
    expect(namesAt(limited, [...checks, 0, "onFlavors"])).toEqual(["a100", "h100"]);
    expect(withNames(limited, [...checks, 0, "onFlavors"], [])).toBe(checked);
    expect(withoutRow(checked, checks, 0)).toBe(QUEUE);
    expect(isOnForm("ClusterQueue", "/spec/admissionChecksStrategy/admissionChecks/0/name")).toBe(true);
    const tolerations = ["spec", "tolerations", 0];
    const tolerated = withRow(beginningOf("ResourceFlavor"), ["spec", "tolerations"], { key: "gpu", operator: "Exists" });
    expect(withValue(tolerated, [...tolerations, "tolerationSeconds"], 60)).toContain("tolerationSeconds: 60");
    expect(isOnForm("ResourceFlavor", "/spec/tolerations/0/key")).toBe(true);
  });

  it("are there for one manifest of a kind with a form, and leave any other text as it is", () => {
    expect(Object.keys(FORMS).map((kind) => formKindOf(beginningOf(kind)))).toEqual(Object.keys(FORMS));
    expect(formKindOf("kind: Topology\n")).toBeUndefined();
    expect(formKindOf(`${QUEUE}---\n${QUEUE}`)).toBeUndefined();
    expect(withValue("a: b: c", COHORT, "campus")).toBe("a: b: c");
    expect(isOnForm("ClusterQueue", "/spec/resourceGroups/0/flavors/0/name")).toBe(true);
    expect(isOnForm("ClusterQueue", "/spec/resourceGroupsOther")).toBe(false);
  });
});

describe("quota", () => {
  it("shows GPUs first and keeps the places", () => {
    expect(flavor(QUEUE).rows.map(({ resource, amounts }) => [resource, amounts.nominalQuota])).toEqual([
      ["nvidia.com/gpu", "48"],
      ["cpu", "576"],
    ]);
  });

  it("changes an amount, and has no limit where it is emptied", () => {
    const limited = withAmount(QUEUE, row(QUEUE), "borrowingLimit", "16");
    expect(row(limited).amounts).toEqual({ nominalQuota: "48", borrowingLimit: "16", lendingLimit: "" });
    expect(withAmount(limited, row(limited), "borrowingLimit", "")).toBe(QUEUE);
    expect(withAmount(QUEUE, row(QUEUE), "nominalQuota", "")).toContain('nominalQuota: ""');
  });

  it("has every resource in every flavor", () => {
    const wider = withResource(withFlavor(QUEUE, group(QUEUE), "h100"), group(withFlavor(QUEUE, group(QUEUE), "h100")), "memory");
    expect(group(wider).resources).toEqual(["nvidia.com/gpu", "cpu", "memory"]);
    expect(group(wider).flavors.map(({ name, rows }) => [name, rows.map(({ resource }) => resource)])).toEqual([
      ["a100", ["nvidia.com/gpu", "cpu", "memory"]],
      ["h100", ["nvidia.com/gpu", "cpu", "memory"]],
    ]);
    const narrower = withoutResource(wider, group(wider), "cpu");
    expect(group(narrower).flavors.map(({ rows }) => rows.length)).toEqual([2, 2]);
    expect(narrower).not.toContain("cpu");
  });

  it("loses a group with its last flavor", () => {
    const without = withoutFlavor(QUEUE, group(QUEUE), flavor(QUEUE));
    expect(quotaGroups(without)).toEqual([]);
    const added = withGroup(without, "h100", ["cpu"]);
    expect(row(added).amounts.nominalQuota).toBe("0");
  });
});
