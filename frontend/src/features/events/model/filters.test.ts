import { expect, test } from "vitest";

import { partsIn, tokenOf, withToken } from "@/components/ui/filter-language";

import { byFamily, eventFiltersIn, filtersOf, filtersWithout, LANGUAGE, mostExcluding, periodOf, tokensOf, withoutToken } from "./filters";

test("fixed instants narrow the log and its histogram, a length that ends now does neither", () => {
  const url = { get: (name: string) => (name === "stream" ? "node/" : "") };
  const now = Date.parse("2026-05-04T13:00:00Z");
  const fixed = { last: "", from: "2026-05-04T12:00:00Z", to: "2026-05-04T12:30:00Z" };
  expect(eventFiltersIn(url, fixed)).toEqual({ ...NONE, stream: "node/", since: fixed.from, until: fixed.to });
  expect(periodOf(fixed, now)).toEqual({ minutes: 30, until: fixed.to });
  const preset = { last: "6h", from: "", to: "" };
  expect(eventFiltersIn(url, preset)).toEqual({ ...NONE, stream: "node/" });
  expect(periodOf(preset, now)).toEqual({ minutes: 360 });
  expect(periodOf({ ...preset, last: "30d" }, now)).toEqual({ minutes: 43_200 });
  expect(periodOf(preset, now, "2026-05-04T12:50:00Z")).toEqual({ minutes: 10 });
});

test("events are counted by family", () => {
  const types = { "workload.admitted": 3, "workload.evicted": 2, "round.committed": 1, "node.fell_silent": 1, "cohort.changed": 4, "prediction.checked": 1 };
  expect(byFamily([{ types }, { types: {} }])).toEqual({ admission: [3, 0], preemption: [3, 0], failure: [1, 0], configuration: [4, 0], other: [1, 0] });
});

const NONE = { type: "", stream: "", actor: "", correlation: "", text: "", since: "", until: "" };

test("filters are tokens, several of a field where they are alternatives", () => {
  const filters = { ...NONE, type: "workload.evicted,node.cordoned", actor: "user:ana" };
  expect(tokensOf(filters)).toEqual(["type:workload.evicted", "type:node.cordoned", "actor:user:ana"]);
  const more = (token: string) => filtersOf(withToken(LANGUAGE, tokensOf(filters), token));
  expect(more("type:workload.held").type).toBe("workload.evicted,node.cordoned,workload.held");
  expect(more("actor:scheduler").actor).toBe("scheduler");
  expect(more("object:node/").stream).toBe("node/");
  expect(withoutToken(filters, "type:workload.evicted")).toMatchObject({ type: "node.cordoned", actor: "user:ana" });
  expect(withoutToken(filters, "actor:user:ana")).toMatchObject({ type: filters.type, actor: "" });
});

test("a token without a known field is a text, one with a field needs a value", () => {
  expect(partsIn(LANGUAGE, "actor:user:ana")).toEqual({ excludes: false, field: "actor", value: "user:ana" });
  expect(["type:", " ", "type:a,b"].map((draft) => tokenOf(LANGUAGE, draft))).toEqual([undefined, undefined, undefined]);
  expect(tokenOf(LANGUAGE, " object:workload/team-a/train ")).toBe("object:workload/team-a/train");
  expect(tokenOf(LANGUAGE, " quota review ")).toBe("quota review");
  const filters = { ...NONE, actor: "user:ana", text: "quota review" };
  expect(tokensOf(filters)).toEqual(["actor:user:ana", "quota review"]);
  expect(withoutToken(filters, "quota review")).toMatchObject({ actor: "user:ana", text: "" });
});

test("the filter that excludes most is the one without which most events match", () => {
  const counts = [{ token: "actor:ana", count: 3, more: false }, { token: "", count: 100, more: true }, { token: "eval", count: 0, more: false }];
  expect(mostExcluding(counts)?.token).toBe("");
  expect(mostExcluding([{ token: "eval", count: 0, more: false }])).toBeUndefined();
  const filters = { ...NONE, actor: "ana", since: "2026-05-04T12:00:00Z", until: "2026-05-04T12:30:00Z" };
  expect(filtersWithout(filters, "")).toEqual({ ...NONE, actor: "ana" });
  expect(filtersWithout(filters, "actor:ana")).toEqual({ ...filters, actor: "" });
});
