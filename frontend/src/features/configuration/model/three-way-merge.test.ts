import { describe, expect, it } from "vitest";

import { threeWayMerge } from "./three-way-merge";

const BEGAN = ["name: gpu", 'resourceVersion: "7"', "cpu: 4", "memory: 8Gi", "stopPolicy: None", ""].join("\n");

describe("changes carried over", () => {
  it("keeps mine beside what others changed elsewhere", () => {
    const mine = BEGAN.replace("cpu: 4", "cpu: 6\npods: 10");
    const now = BEGAN.replace('"7"', '"9"').replace("None", "Hold");
    expect(threeWayMerge(BEGAN, mine, now)).toBe(["name: gpu", 'resourceVersion: "9"', "cpu: 6", "pods: 10", "memory: 8Gi", "stopPolicy: Hold", ""].join("\n"));
  });

  it("says nothing where both changed the same line", () => {
    expect(threeWayMerge(BEGAN, BEGAN.replace("None", "HoldAndDrain"), BEGAN.replace("None", "Hold"))).toBeUndefined();
  });

  it("says nothing where both put something at the same place", () => {
    expect(threeWayMerge(BEGAN, BEGAN.replace("memory", "pods: 1\nmemory"), BEGAN.replace("memory", "gpu: 1\nmemory"))).toBeUndefined();
  });

  it("takes a change that both made only once", () => {
    const both = BEGAN.replace("cpu: 4", "cpu: 8");
    expect(threeWayMerge(BEGAN, both, both)).toBe(both);
  });

  it("leaves out what either took away", () => {
    const mine = BEGAN.replace("memory: 8Gi\n", "");
    const now = BEGAN.replace("name: gpu\n", "");
    expect(threeWayMerge(BEGAN, mine, now)).toBe(['resourceVersion: "7"', "cpu: 4", "stopPolicy: None", ""].join("\n"));
  });

  it("gives each back unchanged where the other did nothing", () => {
    const other = BEGAN.replace("cpu: 4\nmemory: 8Gi", "pods: 3");
    expect(threeWayMerge(BEGAN, other, BEGAN)).toBe(other);
    expect(threeWayMerge(BEGAN, BEGAN, other)).toBe(other);
  });
});
