import { expect, test } from "vitest";

import { placesOf, requestsOf } from "./placement";

test("the last value of a domain is the host", () => {
  const slice = { domainCount: 1, valuesPerLevel: [{ universal: "r1" }, { universal: "h1" }], podCounts: { universal: 2 } };
  const topologyAssignment = { levels: ["rack", "host"], slices: [slice] };
  expect(placesOf({ name: "main", flavors: {}, resourceUsage: {}, count: 2, topologyAssignment })).toEqual([{ host: "h1", pods: 2 }]);
});

test("without a topology there are no hosts to name", () => {
  expect(placesOf({ name: "main", flavors: {}, resourceUsage: {}, count: 2 })).toEqual([]);
});

test("requests are read from the pod template as written", () => {
  const template = { spec: { containers: [{ resources: { requests: { cpu: "500m" } } }, {}] } };
  expect(requestsOf({ name: "main", count: 1, template })).toEqual([["cpu", "500m"]]);
  expect(requestsOf({ name: "main", count: 1, template: {} })).toEqual([]);
});
