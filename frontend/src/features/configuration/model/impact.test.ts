import { expect, it } from "vitest";

import { impactWords } from "./impact";

it("counts affected workloads by what would become of them", () => {
  expect(impactWords([])).toBe("No workload would be affected.");
  expect(impactWords([{ what: "Starts" }])).toBe("1 workload would be affected: 1 would start.");
  expect(impactWords([{ what: "Starts" }, { what: "Evicted" }, { what: "Starts" }])).toBe("3 workloads would be affected: 2 would start, 1 would be evicted.");
});
