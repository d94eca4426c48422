import { describe, expect, it } from "vitest";

import type { LocalQueueObject } from "@/lib/api/types";

import { consumedWords, localQueueOf } from "./consumption";

function queue(consumedResources?: Record<string, string>): LocalQueueObject {
  const fairSharing = consumedResources && { admissionFairSharingStatus: { consumedResources, lastUpdate: "2026-01-01T00:00:00Z" } };
  return { metadata: { namespace: "a", name: "q" }, spec: {}, status: { fairSharing } } as unknown as LocalQueueObject;
}

describe("what a LocalQueue has used of late", () => {
  it("is told with devices first and without memory", () => {
    const used = queue({ cpu: "350768052556n", memory: "3013074628421241672622n", "nvidia.com/gpu": "35076805247n" });
    expect(consumedWords(used)).toBe("35.1 GPU, 350.8 CPU");
  });

  it("is nothing without usage, and undefined where usage is not counted", () => {
    expect(consumedWords(queue({ cpu: "0" }))).toBe("nothing");
    expect(consumedWords(queue())).toBeUndefined();
  });

  it("is found by namespace and name", () => {
    const found = queue();
    expect(localQueueOf([found], "a", "q")).toBe(found);
    expect(localQueueOf([found], "b", "q")).toBeUndefined();
  });
});
