import { expect, test } from "vitest";

import { type Outcome, actionBody, curlOf, expiryAt, quoted, runAll, runTogether } from "./actions";

test("one failure stops none of the others, and each has its result", async () => {
  const seen: string[] = [];
  const outcomes = await runAll(
    ["a", "b", "c", "d", "e", "f"],
    (key) => (key === "b" ? Promise.reject(new Error("no")) : Promise.resolve()),
    (key, outcome) => seen.push(`${key}:${outcome.error === undefined ? "done" : "failed"}`),
  );
  expect(outcomes).toHaveLength(6);
  expect(seen.sort()).toEqual(["a:done", "b:failed", "c:done", "d:done", "e:done", "f:done"]);
});

test("no expiry is left out of the request", () => {
  expect(expiryAt(0, 0)).toBeUndefined();
  expect(expiryAt(3600, 0)).toBe("1970-01-01T01:00:00.000Z");
  expect(actionBody({ reason: "x", expirySeconds: 0 })).toEqual({ reason: "x" });
});

test("what goes to a shell is quoted when it must be", () => {
  expect(quoted("team-a/train")).toBe("team-a/train");
  expect(quoted("it's late")).toBe(`'it'\\''s late'`);
  expect(curlOf("GET", "http://h/v1/queues")).toContain("Bearer $HEADGATE_TOKEN");
});

test("one request for all has an outcome for each; its failure is that of each", async () => {
  const seen: Record<string, Outcome> = {};
  const report = (key: string, outcome: Outcome) => {
    seen[key] = outcome;
  };
  await runTogether(["a", "b"], () => Promise.resolve([{}, { error: "ended" }]), report);
  expect(seen).toEqual({ a: {}, b: { error: "ended" } });
  await runTogether(["a", "b"], () => Promise.reject(new Error("offline")), report);
  expect(Object.values(seen).every(({ error }) => error instanceof Error)).toBe(true);
});
