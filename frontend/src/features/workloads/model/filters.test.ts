import { expect, test } from "vitest";

import { isNarrowed, toggled } from "./filters";

test("a phase is switched on and off in the address", () => {
  expect(toggled("", "Pending")).toBe("Pending");
  expect(toggled("Pending", "OnHold")).toBe("Pending,OnHold");
  expect(toggled("Pending,OnHold", "Pending")).toBe("OnHold");
});

test("a list with any filter is narrowed", () => {
  const none = { phase: "", namespace: "", queue: "", clusterQueue: "", name: "", owner: "" };
  expect(isNarrowed(none)).toBe(false);
  expect(isNarrowed({ ...none, queue: "main" })).toBe(true);
  expect(isNarrowed({ ...none, owner: "@me" })).toBe(true);
});
