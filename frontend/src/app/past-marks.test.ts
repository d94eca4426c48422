import { describe, expect, it } from "vitest";

import type { Cycle, Revision } from "@/lib/api/types";

import { markAfter, markBefore, marksOf, shareOf } from "./past-marks";

const cycle = { id: "c", partition: "gpu", lastPosition: 9, decisions: 1, outcome: "Committed" } as Cycle;
const revision = { position: 5, kind: "ClusterQueue", name: "gpu", actor: "user:ada", stream: "clusterqueue/gpu" } as Revision;

describe("marks on the slider", () => {
  const marks = marksOf([cycle, { ...cycle, id: "refused", outcome: "Conflict" }], [revision]);

  it("are decisions and changes, the latest first", () => {
    expect(marks.map((mark) => [mark.kind, mark.position])).toEqual([
      ["decision", 9],
      ["configuration", 5],
    ]);
  });

  it("are found before and after a position", () => {
    expect(markBefore(marks, 9)?.position).toBe(5);
    expect(markAfter(marks, 5)?.position).toBe(9);
    expect(markBefore(marks, 5)).toBeUndefined();
  });

  it("lie where their position lies in the log", () => {
    expect(shareOf(5, 10)).toBe("50%");
    expect(shareOf(0, 0)).toBe("0%");
  });
});
