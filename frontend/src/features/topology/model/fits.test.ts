import { expect, test } from "vitest";

import type { LevelFit, NearFit } from "@/lib/api/types";

import { gangWords, nearByPath, nearWords, podOf, scattered, sizeOf, unitOf, worthTelling } from "./fits";

const fit: LevelFit = { flavor: "gpu", level: "rack", domains: 2, withRoom: 2, largest: 6, domain: ["r1"], together: 8, fragmentation: 250 };
const near: NearFit = {
  podSet: "main",
  flavor: "gpu",
  level: "rack",
  domain: ["b1", "r1"],
  unit: "pods",
  fits: 10,
  needs: 12,
  resource: "cpu",
  inTheWay: [],
};

test("a pod is written as the server reads it", () => {
  expect(podOf("cpu", 4)).toBe("cpu=4");
  expect(podOf("memory", 8)).toBe("memory=8Gi");
  expect(podOf("nvidia.com/gpu", 1)).toBe("nvidia.com/gpu=1");
  expect(unitOf("memory")).toBe("GiB");
  expect(unitOf("cpu")).toBe("CPU");
});

test("a size is at least one, whatever was typed", () => {
  expect(sizeOf("8")).toBe(8);
  expect(sizeOf("-3")).toBe(1);
  expect(sizeOf("many")).toBe(1);
  expect(sizeOf("99999999999")).toBe(1_000_000);
});

test("room outside the largest domain is scattered", () => {
  expect(scattered(fit)).toBe(0.25);
  expect(scattered({ ...fit, largest: 0, together: 0, fragmentation: 0 })).toBe(0);
});

test("the largest gang is told for each level, of the flavor where it is larger", () => {
  const host = { ...fit, level: "kubernetes.io/hostname", largest: 2 };
  expect(gangWords([fit, host, { ...fit, flavor: "other", largest: 9 }])).toBe("rack 9, hostname 2");
  expect(gangWords([])).toBe("");
});

test("a domain tells what it lacks for the pod set that lacks most", () => {
  const worse = { ...near, podSet: "leader", fits: 0, needs: 9 };
  expect(nearByPath([near, worse]).get("b1/r1")).toBe(worse);
  expect(nearWords(near)).toBe("10 of 12 pods fit, 2 short");
  expect(nearWords({ ...near, fits: 12 })).toBe("all 12 pods fit");
  expect(nearWords({ ...near, fits: 9, needs: 1 })).toBe("the only pod fits");
});

test("where a pod set fits, only its best place is told", () => {
  const whole = { ...near, fits: 12 };
  const other = { ...near, podSet: "leader" };
  expect(worthTelling([whole, { ...whole, domain: ["b1", "r2"] }, near, other])).toEqual([whole, other]);
  expect(worthTelling([near, other])).toEqual([near, other]);
});
