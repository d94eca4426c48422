import { expect, test } from "vitest";

import { bySeverity } from "./attention";

test("the most severe comes first, and those of one severity stay in order", () => {
  const items = [
    { severity: "info", n: 1 },
    { severity: "critical", n: 2 },
    { severity: "warning", n: 3 },
    { severity: "critical", n: 4 },
  ];
  expect(bySeverity(items).map((item) => item.n)).toEqual([2, 4, 3, 1]);
});
