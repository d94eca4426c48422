import { expect, test } from "vitest";

import { fieldsFor } from "@/components/ui/filter-language";

import { exact, filterIn, isComplete, LANGUAGE, partsOf, startsOf, tokensIn, withToken, withoutToken } from "./filter-text";

test("a filter is words, of which quoted ones hold spaces", () => {
  expect(tokensIn('gpu:>8  owner:="Ana B" train')).toEqual(["gpu:>8", 'owner:="Ana B"', "train"]);
  expect(partsOf("-phase:Failed")).toEqual({ excludes: true, field: "phase", value: "Failed" });
  expect(partsOf("train")).toEqual({ excludes: false, field: "", value: "train" });
});

test("a word is added once and replaces its opposite", () => {
  expect(withToken("train -phase:Failed", "phase:Failed")).toBe("train phase:Failed");
  expect(withToken("train", "train")).toBe("train");
  expect(withoutToken("train gpu:>8", "train")).toBe("gpu:>8");
});

test("only words that the server understands are sent", () => {
  expect(["gpu:>8", "wait:<2h", "owner:me", "train", "-label:team=x"].every(isComplete)).toBe(true);
  expect(["gpu:", "gpu:many", "gpu:>2h", "wait:x", "colour:red", "owner:=", 'owner:"Ana', ""].some(isComplete)).toBe(false);
});

test("fields are suggested by their beginning, and first values after the colon", () => {
  expect(fieldsFor(LANGUAGE, partsOf("-ow")).map(({ token }) => token)).toEqual(["-owner:"]);
  expect(startsOf(partsOf("gpu:>")).map(({ token }) => token)).toEqual(["gpu:>0", "gpu:>8", "gpu:>=64"]);
  expect(startsOf(partsOf("owner:")).map(({ token }) => token)).toEqual([]);
});

test("links of other pages become words", () => {
  const given: Record<string, string> = { filter: "gpu:>8", phase: "Pending,Retrying", clusterQueue: "gpu", owner: "@me", name: "train" };
  const url = { get: (name: string) => given[name] ?? "", change: () => undefined };
  expect(filterIn(url)).toBe("gpu:>8 phase:Pending,Retrying clusterQueue:=gpu train owner:me");
  expect(exact("owner", "Ana B")).toBe('owner:="Ana B"');
});
