import { expect, test } from "vitest";

import { domainsOf } from "./topology-assignment";

test("slices are expanded in order, with what their values have in common", () => {
  const racks = { universal: "r1" };
  const hosts = { individual: { prefix: "gpu-", suffix: ".dc", roots: ["1", "2"] } };
  const slices = [
    { domainCount: 2, valuesPerLevel: [racks, hosts], podCounts: { individual: [3, 1] } },
    { domainCount: 1, valuesPerLevel: [{ universal: "r2" }, { universal: "h9" }], podCounts: { universal: 8 } },
  ];
  expect(domainsOf({ levels: ["rack", "kubernetes.io/hostname"], slices })).toEqual([
    { values: ["r1", "gpu-1.dc"], count: 3 },
    { values: ["r1", "gpu-2.dc"], count: 1 },
    { values: ["r2", "h9"], count: 8 },
  ]);
});

test("without an assignment there are no domains", () => {
  expect(domainsOf(undefined)).toEqual([]);
});
