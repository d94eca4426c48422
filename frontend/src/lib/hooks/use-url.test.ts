import { expect, test } from "vitest";

import { searchWith } from "./use-url";

test("changing one parameter keeps the others", () => {
  expect(searchWith("?phase=Pending&name=x", { name: "train" })).toBe("?phase=Pending&name=train&v=2");
});

test("an emptied parameter leaves the address, and a version of nothing", () => {
  expect(searchWith("?panel=a/b", { panel: "" })).toBe("");
  expect(searchWith("?panel=a/b&v=2", { panel: "" })).toBe("");
});

test("names and lists stay readable", () => {
  expect(searchWith("", { panel: "team-a/train", phase: "Pending,OnHold" })).toBe("?panel=team-a/train&phase=Pending,OnHold&v=2");
});
