import { expect, test } from "vitest";

import { ProblemError, UNREACHABLE, isUnfetched, problemOf, withRemedy } from "./problem";

test.each([
  new Error("Unable to preload CSS for http://localhost/assets/page.css"),
  new TypeError("Failed to fetch dynamically imported module: http://localhost/assets/page.js"),
  new TypeError("error loading dynamically imported module: http://localhost/assets/page.js"),
  new TypeError("Importing a module script failed."),
])("a page without its code tells that the server cannot be reached", (error) => {
  expect(isUnfetched(error)).toBe(true);
  expect(problemOf(error)).toBe(UNREACHABLE);
});

test("what the server said stays as it is, and unexpected errors are told", () => {
  const refused = { type: "/problems/forbidden", title: "Not allowed", status: 403, detail: "no" };
  expect(problemOf(new ProblemError(refused))).toBe(refused);
  expect(isUnfetched(new Error("x is undefined"))).toBe(false);
  expect(problemOf(new Error("x is undefined")).detail).toBe("x is undefined");
});

test.each([
  ["Must be a string", "Put it in quotes.", "Must be a string. Put it in quotes."],
  ["It has a full stop.", "Leave it.", "It has a full stop. Leave it."],
  ["Must be a string", "", "Must be a string"],
  ["", "Try again.", "Try again."],
])("a text and its remedy are sentences", (text, remedy, shown) => {
  expect(withRemedy(text, remedy)).toBe(shown);
});
