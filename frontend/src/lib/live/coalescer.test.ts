import { expect, test } from "vitest";

import { Coalescer } from "./coalescer";
import { pauseAfter } from "./pace";

const MINUTE = 60_000;

/** A clock that is moved by hand. */
function handTimers() {
  const waiting: { at: number; run: () => void }[] = [];
  let now = 0;
  return {
    timers: {
      now: () => now,
      after: (milliseconds: number, run: () => void) => {
        const one = { at: now + milliseconds, run };
        waiting.push(one);
        return () => void waiting.splice(waiting.indexOf(one), 1);
      },
    },
    /** Lets time go by, and runs what is due. */
    pass: async (milliseconds: number) => {
      now += milliseconds;
      for (const one of waiting.filter(({ at }) => at <= now)) {
        waiting.splice(waiting.indexOf(one), 1);
        one.run();
      }
      // What follows a refresh is a chain of promises without timers.
      for (let turn = 0; turn < 8; turn++) await Promise.resolve();
    },
  };
}

test("a burst of changes is one refresh", async () => {
  const seen: string[][] = [];
  const { timers, pass } = handTimers();
  const coalescer = new Coalescer(
    (topics) => {
      seen.push([...topics].sort());
      return Promise.resolve(1);
    },
    () => 500,
    timers,
  );
  coalescer.mark(["queues"]);
  coalescer.mark(["workloads", "queues"]);
  await pass(200);
  expect(seen).toEqual([["queues", "workloads"]]);
});

test("what changes during a refresh is refreshed again afterwards", async () => {
  const seen: string[][] = [];
  let finish: (requests: number) => void = () => undefined;
  const { timers, pass } = handTimers();
  const coalescer = new Coalescer(
    (topics) => {
      seen.push([...topics]);
      return new Promise<number>((resolve) => (finish = resolve));
    },
    () => 500,
    timers,
  );
  coalescer.mark(["queues"]);
  await pass(200);
  coalescer.mark(["overview"]);
  await pass(MINUTE);
  expect(seen).toHaveLength(1);
  finish(1);
  await pass(0);
  await pass(500);
  expect(seen).toEqual([["queues"], ["overview"]]);
});

test.each([1, 2, 3, 4, 5, 6, 8, 12])("an idle viewer of a page of %i reads sends at most 12 requests in any minute", async (reads) => {
  const sent: number[] = [];
  const { timers, pass } = handTimers();
  const coalescer = new Coalescer(
    () => {
      for (let read = 0; read < reads; read++) sent.push(timers.now());
      return Promise.resolve(reads);
    },
    (requests) => pauseAfter(requests, "idle"),
    timers,
  );
  for (let passed = 0; passed < 3 * MINUTE; passed += 500) {
    coalescer.mark(["workloads"]);
    await pass(500);
  }
  const most = Math.max(...sent.map((at) => sent.filter((other) => other >= at && other < at + MINUTE).length));
  expect(most).toBeLessThanOrEqual(12);
  expect(most).toBeGreaterThan(0);
});

test("a hidden page reads nothing, and reads once when it is seen again", async () => {
  let refreshes = 0;
  let hidden = true;
  const { timers, pass } = handTimers();
  const coalescer = new Coalescer(
    () => {
      refreshes++;
      return Promise.resolve(1);
    },
    () => pauseAfter(1, hidden ? "hidden" : "active"),
    timers,
  );
  coalescer.mark(["workloads"]);
  await pass(10 * MINUTE);
  coalescer.mark(["queues"]);
  expect(refreshes).toBe(0);
  hidden = false;
  coalescer.reschedule();
  await pass(MINUTE);
  await pass(MINUTE);
  expect(refreshes).toBe(1);
});
