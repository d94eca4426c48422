import { describe, expect, it } from "vitest";
import { parseAllDocuments } from "yaml";

import { changedQueues, changesOf, chosenFirst, documentsOf, editsIn, editsText, firstResource, linesOf, type QueueManifest, type QuotaLine, resourcesOf, sampleStart, sliderMaximum, triedOf, withEdit } from "./lab";

const GPU = "nvidia.com/gpu";

function queue(name: string, gpus: string, more: object = {}): QueueManifest {
  const resources = [
    { name: "memory", nominalQuota: "512Gi" },
    { name: GPU, nominalQuota: gpus, ...more },
  ];
  return {
    apiVersion: "kueue.x-k8s.io/v1beta2",
    kind: "ClusterQueue",
    metadata: { name, uid: "u", resourceVersion: "7" },
    spec: { cohortName: "all", resourceGroups: [{ coveredResources: ["memory", GPU], flavors: [{ name: "a100", resources }] }] },
    status: { pendingWorkloads: 3 },
  };
}

const QUEUES = [queue("vision", "48", { borrowingLimit: "80" }), queue("robotics", "32")];

function line(queue: string): QuotaLine {
  const found = linesOf(QUEUES, GPU).find((one) => one.queue === queue);
  if (found === undefined) throw new Error(`no quota of ${queue}`);
  return found;
}

const vision = line("vision");

describe("quotas in the policy lab", () => {
  it("are read in the unit in which they are set", () => {
    expect(resourcesOf(QUEUES)).toEqual([GPU, "memory"]);
    expect(linesOf(QUEUES, GPU).map(({ nominal, borrowing }) => [nominal, borrowing])).toEqual([
      [48, 80],
      [32, null],
    ]);
    expect(linesOf(QUEUES, "memory")[0]?.nominal).toBe(512);
  });

  it("begin with those of the queue that the page was opened for", () => {
    expect(chosenFirst(linesOf(QUEUES, GPU), "robotics").map(({ queue }) => queue)).toEqual(["robotics", "vision"]);
    const cpu = { metadata: { name: "web" }, spec: { resourceGroups: [{ coveredResources: ["cpu"], flavors: [{ name: "any", resources: [{ name: "cpu", nominalQuota: 1 }] }] }] } };
    expect(["web", "vision", ""].map((name) => firstResource([...QUEUES, cpu], "", name))).toEqual(["cpu", GPU, GPU]);
    expect(firstResource(QUEUES, "memory", "vision")).toBe("memory");
  });

  it("are tried in whole manifests of the queues that differ, without what the server owns", () => {
    const edits = withEdit({}, vision, { nominal: 64, borrowing: null });
    const [document] = parseAllDocuments(documentsOf(changedQueues(QUEUES, edits))).map((one) => one.toJS() as QueueManifest);
    expect(document?.metadata).toEqual({ name: "vision" });
    expect(document?.["status"]).toBeUndefined();
    const resources = document?.spec?.resourceGroups?.[0]?.flavors[0]?.resources;
    expect(resources).toEqual([
      { name: "memory", nominalQuota: "512Gi" },
      { name: GPU, nominalQuota: "64" },
    ]);
    expect(documentsOf(changedQueues(QUEUES, edits), {})).toContain('resourceVersion: "7"');
    expect(documentsOf(QUEUES, { vision: "9" })).toContain('resourceVersion: "9"');
  });

  it("stand in the address, and one that is as it was does not", () => {
    const edits = withEdit({}, vision, { nominal: 64 });
    expect(editsText(edits)).toBe(`vision:a100:${GPU}=64/`);
    expect(editsIn(editsText(withEdit(edits, vision, { borrowing: null })))).toEqual({ [vision.key]: { nominal: 64, borrowing: null } });
    expect(withEdit(edits, vision, { nominal: 48 })).toEqual({});
    expect(editsIn("nonsense,a=b/c")).toEqual({});
    expect(triedOf(vision, edits)).toEqual({ nominal: 64, borrowing: 80 });
  });

  it("are told in words", () => {
    const edits = withEdit({}, vision, { nominal: 64, borrowing: null });
    expect(changesOf(QUEUES, edits).map(({ words }) => words)).toEqual(["vision, a100: nominal 48 → 64 GPU, borrow up to 80 → no limit"]);
  });

  it("slide up to twice the largest, and a sample is the newest part of the log", () => {
    expect(sliderMaximum(linesOf(QUEUES, GPU), 0)).toBe(96);
    expect(sliderMaximum(linesOf(QUEUES, GPU), 128)).toBe(128);
    expect(sampleStart(5_000)).toBe(4_000);
    expect(sampleStart(12)).toBe(0);
  });
});
