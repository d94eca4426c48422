import { expect, test } from "vitest";

import { chipsOf, chipWords } from "./kinds";

const KINDS = ["ClusterQueue", "LocalQueue", "Cohort", "Webhook"] as const;

test("kinds that have no room stand in the menu", () => {
  expect(chipsOf(KINDS, "LocalQueue", 2)).toEqual({ chips: ["ClusterQueue", "LocalQueue"], others: ["Cohort", "Webhook"] });
  expect(chipsOf(KINDS, "LocalQueue", 9)).toEqual({ chips: [...KINDS], others: [] });
});

test("the chosen kind has the last chip where it would have none", () => {
  expect(chipsOf(KINDS, "Webhook", 2)).toEqual({ chips: ["ClusterQueue", "Webhook"], others: ["LocalQueue", "Cohort"] });
});

test("long names are short on chips", () => {
  expect(["ResourceFlavor", "Cohort"].map(chipWords)).toEqual(["Flavor", "Cohort"]);
});
