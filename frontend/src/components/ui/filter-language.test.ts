import { expect, test } from "vitest";

import { type FilterLanguage, fieldsFor, frequentValues, partsIn, tokenOf, withToken } from "./filter-language";

const FIELDS = [
  { name: "clusterQueue", words: "Queue", single: true },
  { name: "type", words: "Type", accepts: (value: string) => !value.includes(",") },
];
const words: FilterLanguage = { fields: FIELDS, bare: "words", excludes: true };
const text: FilterLanguage = { fields: FIELDS, bare: "text" };
const named: FilterLanguage = { fields: FIELDS, bare: { field: "clusterQueue" } };

test("a token is a field with a value, known in any case, or a word", () => {
  expect(partsIn(words, "-clusterqueue:main")).toEqual({ excludes: true, field: "clusterQueue", value: "main" });
  expect(partsIn(text, "actor:user:ana")).toEqual({ excludes: false, field: "", value: "actor:user:ana" });
  expect(partsIn(text, "-train")).toEqual({ excludes: false, field: "", value: "-train" });
});

test("a draft becomes a token once it can be filtered by", () => {
  expect(tokenOf(words, " CLUSTERQUEUE: main ")).toBe("clusterQueue:main");
  expect(tokenOf(words, "-train")).toBe("-train");
  expect(tokenOf(text, "phase: lost ")).toBe("phase: lost");
  expect(tokenOf(named, "main")).toBe("clusterQueue:main");
  expect(["", "type:", "type:a,b", "phase:x"].map((draft) => tokenOf(words, draft))).toEqual([undefined, undefined, undefined, undefined]);
});

test("a token is added once, and replaces its opposite and what has one value", () => {
  expect(withToken(words, ["train", "-type:a"], "type:a")).toEqual(["train", "type:a"]);
  expect(withToken(words, ["clusterQueue:a", "type:a"], "clusterQueue:b")).toEqual(["type:a", "clusterQueue:b"]);
  expect(withToken(words, ["type:a", "x"], "type:b")).toEqual(["type:a", "x", "type:b"]);
  expect(withToken(text, ["one text", "type:a"], "another")).toEqual(["type:a", "another"]);
});

test("fields and frequent values are suggested", () => {
  expect(fieldsFor(words, partsIn(words, "-clu")).map(({ token }) => token)).toEqual(["-clusterQueue:"]);
  const counts = new Map([["a", 1], ["main", 2], ["", 9], ["train", 2]]);
  expect(frequentValues("type", "A", counts, "event")).toEqual([
    { token: "type:main", words: "2 events" },
    { token: "type:train", words: "2 events" },
    { token: "type:a", words: "1 event" },
  ]);
});
