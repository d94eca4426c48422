import { expect, test } from "vitest";

import { Coalescer } from "./coalescer";

function handTimers() {
  const waiting: (() => void)[] = [];
  return {
    timers: {
      after: (_: number, run: () => void) => {
        waiting.push(run);
        return () => waiting.splice(waiting.indexOf(run), 1);
      },
    },
    ring: () => waiting.shift()?.(),
    waiting,
  };
}

test("a burst of changes is one refresh", async () => {
  const seen: string[][] = [];
  const { timers, ring } = handTimers();
  const coalescer = new Coalescer(
    (topics) => {
      seen.push([...topics].sort());
      return Promise.resolve();
    },
    500,
    timers,
  );
  coalescer.mark(["queues"]);
  coalescer.mark(["workloads", "queues"]);
  ring();
  await Promise.resolve();
  expect(seen).toEqual([["queues", "workloads"]]);
});

test("what changes during a refresh is refreshed again afterwards", async () => {
  const seen: string[][] = [];
  let finish: () => void = () => undefined;
  const { timers, ring, waiting } = handTimers();
  const coalescer = new Coalescer(
    (topics) => {
      seen.push([...topics]);
      return new Promise<void>((resolve) => (finish = resolve));
    },
    500,
    timers,
  );
  coalescer.mark(["queues"]);
  ring();
  coalescer.mark(["overview"]);
  expect(waiting).toHaveLength(0);
  finish();
  await new Promise((resolve) => setTimeout(resolve, 0));
  ring();
  expect(seen).toEqual([["queues"], ["overview"]]);
});
