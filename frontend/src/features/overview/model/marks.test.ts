import { expect, test } from "vitest";

import type { Fact, Revision } from "@/lib/api/types";

import { marksOf } from "./marks";

const revision = (at: string, name: string) => ({ at, name, kind: "ClusterQueue", actor: "user:ana", stream: `clusterqueue/${name}` }) as Revision;
const outage = (at: string) => ({ at, type: "node.fell_silent", stream: "node/host-1" }) as Fact;

test("changes within a minute are one mark that counts them", () => {
  const marks = marksOf([revision("2026-11-27T12:00:40Z", "b"), revision("2026-11-27T12:00:00Z", "a"), revision("2026-11-27T13:00:00Z", "c")], []);
  expect(marks.map(({ words }) => words)).toEqual(["ClusterQueue c changed by ana", "2 changes, the last: ClusterQueue b changed by ana"]);
});

test("outages and changes stay apart", () => {
  const marks = marksOf([revision("2026-11-27T12:00:00Z", "a")], [outage("2026-11-27T12:00:10Z")]);
  expect(marks.map(({ kind }) => kind)).toEqual(["outage", "change"]);
  expect(marks[0]?.words).toBe("node host-1 not ready");
});
