import { expect, test } from "vitest";

import { addressOfStream, changesAddress, configurationAddress, factDetail, factTone, factWords, subjectOf, typeWords } from "./events";

test("every stream that has a page leads to it", () => {
  expect(addressOfStream("workload/team-a/train")).toBe("/workloads/team-a/train");
  expect(addressOfStream("clusterqueue/gpu")).toBe("/queues/gpu");
  expect(addressOfStream("round/7-1")).toBe("/preemptions/7-1");
  expect(addressOfStream("node/host 1")).toBe("/topology?host=host%201");
  expect(addressOfStream("namespace/team-a")).toBe("");
});

test("a configured object has an address of its own", () => {
  expect(configurationAddress("ClusterQueue", "gpu", "form")).toBe("/configuration/ClusterQueue/gpu?tab=form");
  expect(configurationAddress("LocalQueue", "team-a/main")).toBe("/configuration/LocalQueue/team-a/main");
  expect(configurationAddress("Node")).toBe("/configuration/Node");
  expect(changesAddress("localqueue/team-a/main")).toBe("/configuration/localqueue/team-a/main?tab=history");
});

test("a type reads as words", () => {
  expect(typeWords("workload.quota_reserved")).toBe("Quota reserved");
  expect(typeWords("workload.explained")).toBe("Pending reason updated");
  expect(typeWords("cluster_queue.stopped")).toBe("Cluster queue stopped");
  expect(subjectOf("workload/team-a/train")).toBe("team-a/train");
  expect(subjectOf("round/7-1")).toBe("Preemption");
});

test("an event says the reason people ask for first", () => {
  expect(factDetail({ type: "workload.explained", data: { explanation: { sentence: "Needs 8." } } })).toBe("Needs 8.");
  const message = { code: "PodsStopped", arguments: {}, text: "All pods have stopped" };
  expect(factDetail({ type: "workload.evicted", data: { message } })).toBe("All pods have stopped");
  expect(factDetail({ type: "cluster_queue.stopped", data: { stop: { reason: "upgrade" } } })).toBe("upgrade");
  expect(factDetail({ type: "workload.quota_reserved", data: { admission: { clusterQueue: "gpu" } } })).toBe("ClusterQueue gpu");
});

test("a failed end looks different from a good one", () => {
  expect(factTone({ type: "workload.finished", data: { reason: "Failed" } })).toBe("bad");
  expect(factTone({ type: "workload.finished", data: { reason: "Succeeded" } })).toBe("good");
  expect(factTone({ type: "workload.finished", data: { reason: "FailedToStart" } })).toBe("bad");
  expect(factTone({ type: "workload.finished", data: { reason: "Cancelled" } })).toBe("idle");
});

test("an event with an outcome is named by it, any other by its type", () => {
  expect(factWords({ type: "workload.finished", data: { reason: "Failed" } })).toBe("Failed");
  expect(factWords({ type: "workload.finished", data: { reason: "Cancelled" } })).toBe("Cancelled");
  const never = { type: "workload.explained", data: { explanation: { dominant: "Unschedulable" } } };
  expect([factWords(never), factTone(never)]).toEqual(["Unschedulable", "bad"]);
  expect(factWords({ type: "workload.admitted", data: {} })).toBe("Admitted");
});
