import { expect, test } from "vitest";

import type { AttemptSummary, Pod } from "@/lib/api/types";

import { countWords, endWords, podCount, progressWords } from "./pods";

function pod(changes: Partial<Pod>): Pod {
  return {
    podSet: "main",
    index: 0,
    rank: 0,
    run: 1,
    state: "Failed",
    node: "n",
    exitCode: null,
    signal: null,
    reason: null,
    message: "",
    startedAt: null,
    readyAt: null,
    finishedAt: null,
    result: "",
    ...changes,
  };
}

test("the end of a pod is its exit code or signal, with the reason where one says more", () => {
  expect(endWords(pod({ state: "Running" }))).toBe("");
  expect(endWords(pod({ exitCode: 0, reason: "Completed" }))).toBe("exit 0");
  expect(endWords(pod({ exitCode: 137, reason: "OOMKilled" }))).toBe("exit 137 (out of memory)");
  expect(endWords(pod({ signal: 9, exitCode: 137, reason: "Error" }))).toBe("signal 9 SIGKILL");
  expect(endWords(pod({ reason: "StartFailed", message: "no such file" }))).toBe("start failed: no such file");
});

test("pods are counted by state in the order of their life", () => {
  const attempt = { attempt: 1, pods: { Failed: 1, Running: 2 }, restarts: 0, startedAt: null, finishedAt: null };
  expect(countWords(attempt)).toBe("2 Running, 1 Failed");
  expect(podCount(attempt)).toBe(3);
  expect(countWords({ ...attempt, pods: {} })).toBe("no pods");
});

test("the progress of an attempt is how many pods run, and what became of others", () => {
  const attempt = { attempt: 1, pods: { Running: 3, Starting: 1, Failed: 1 }, restarts: 0 } as unknown as AttemptSummary;
  expect(progressWords(attempt)).toBe("3 of 5 pods running, 1 Failed");
  expect(progressWords({ ...attempt, pods: { Starting: 1 } })).toBe("0 of 1 pod running");
  expect(progressWords(undefined)).toBe("");
});
