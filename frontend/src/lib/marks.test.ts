import { expect, test } from "vitest";

import type { MarkList } from "@/lib/api/types";

import { chartMarks } from "./marks";

const MARK: MarkList["items"][number] = {
  kind: "Change",
  count: 1,
  firstAt: "2026-11-27T12:00:00Z",
  at: "2026-11-27T12:00:40Z",
  position: 7,
  stream: "clusterqueue/vision",
  objectKind: "ClusterQueue",
  name: "vision",
  type: "cluster_queue.changed",
  actor: "user:ana",
  reason: "",
};

test("a mark names the event, its object, its actor and its reason", () => {
  const stop = { ...MARK, kind: "Stop" as const, type: "cluster_queue.stopped", reason: "budget review" };
  const outage = { ...MARK, kind: "Outage" as const, type: "node.fell_silent", stream: "node/h1", objectKind: "Node", name: "h1", actor: "system" };
  const marks = chartMarks({ items: [MARK, stop, outage] });
  expect(marks.map(({ kind, words }) => [kind, words])).toEqual([
    ["change", "ClusterQueue vision changed by ana"],
    ["stop", "ClusterQueue vision stopped by ana: budget review"],
    ["outage", "Node h1 not ready"],
  ]);
  expect(marks.map(({ address }) => address)).toEqual([
    "/configuration/clusterqueue/vision?tab=history",
    "/queues/vision",
    "/events?stream=node%2Fh1",
  ]);
});

test("several of a minute are one mark that leads to all of them", () => {
  const changes = { ...MARK, count: 2 };
  const outages = { ...MARK, kind: "Outage" as const, count: 8, type: "node.fell_silent", objectKind: "Node", name: "h8" };
  const [first, second] = chartMarks({ items: [changes, outages] });
  expect(first).toMatchObject({ words: "2 changes, the last: ClusterQueue vision changed by ana", address: "/configuration?view=changes" });
  expect(second?.words).toBe("8 outages, the last: Node h8 not ready");
  expect(second?.address).toContain("&from=2026-11-27T12%3A00%3A00Z&to=2026-11-27T12%3A00%3A41.000Z");
});
