import { expect, test } from "vitest";

import { MAX_QUEUES, headlineWords, pairFigure, pairMatrix, pairWords, repeatWords } from "./sums";

function pair(preemptor: string, victim: string, gpuHours: number, victims = 1) {
  return { preemptor, victim, rounds: 1, victims, gpuSeconds: gpuHours * 3600 };
}

test("the headline says what was lost, and in how many rounds", () => {
  expect(headlineWords({ gpuSeconds: 148_320, rounds: 1250 })).toBe("lost 41 GPU-h, 1,250 rounds");
  expect(headlineWords({ gpuSeconds: 0, rounds: 1 })).toBe("lost 0 GPU-h, 1 round");
});

test("pairs are a table of queues, the most costly first on both sides", () => {
  const found = pairMatrix([pair("vision", "language", 31), pair("vision", "robotics", 1.1), pair("robotics", "robotics", 4)]);
  expect(found.preemptors).toEqual(["vision", "robotics"]);
  expect(found.victims).toEqual(["language", "robotics"]);
  expect(found.pairs.get("robotics language")).toBeUndefined();
  const known = found.pairs.get("vision robotics");
  expect(known && pairFigure(known, found.unit)).toBe("1.1");
  expect(known && pairWords(known)).toBe("vision preempted 1 victim of robotics in 1 round, lost 1.1 GPU-h");
  expect([found.unit, found.left]).toEqual(["GPU-h", 0]);
});

test("without lost GPUs victims are counted, and queues beyond the most costly are left out", () => {
  const many = Array.from({ length: MAX_QUEUES + 2 }, (_, number) => pair("vision", `queue-${number}`, 0, 20 - number));
  const found = pairMatrix(many);
  expect([found.unit, found.left, found.victims.length]).toEqual(["victims", 2, MAX_QUEUES]);
  expect(found.victims[0]).toBe("queue-0");
  expect(many[0] && pairFigure(many[0], found.unit)).toBe("20");
});

test("a repetition says how often and in what time", () => {
  const words = repeatWords({ workloads: ["a/p", "b/x"], rounds: 5, rules: ["InCohortReclamation"], firstAt: "2026-05-04T12:00:00Z", lastAt: "2026-05-04T12:09:00Z" });
  expect(words).toBe("5 times in 9 m, rule InCohortReclamation");
});
