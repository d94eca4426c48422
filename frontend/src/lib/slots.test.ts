import { expect, test } from "vitest";

import { Slots } from "./slots";

test("no more tasks run at once than there are slots, in the order they came", async () => {
  const slots = new Slots(3);
  const ends: (() => void)[] = [];
  const begun: number[] = [];
  const runs = [0, 1, 2, 3, 4].map((number) =>
    slots.run(() => {
      begun.push(number);
      return new Promise<void>((resolve) => ends.push(resolve));
    }),
  );
  await Promise.resolve();
  expect(begun).toEqual([0, 1, 2]);
  ends[1]?.();
  await runs[1];
  await Promise.resolve();
  expect(begun).toEqual([0, 1, 2, 3]);
  for (const end of ends) end();
  await Promise.all([runs[0], runs[2], runs[3]]);
  for (const end of ends) end();
  await runs[4];
  expect(begun).toEqual([0, 1, 2, 3, 4]);
});

test("what is aborted while it waits never runs, and gives its slot to the next", async () => {
  const slots = new Slots(1);
  let end: () => void = () => undefined;
  const first = slots.run(() => new Promise<void>((resolve) => (end = resolve)));
  const gone = new AbortController();
  const aborted = slots.run(() => Promise.resolve("ran"), gone.signal);
  const last = slots.run(() => Promise.resolve("last"));
  gone.abort();
  end();
  await first;
  await expect(aborted).rejects.toThrow();
  expect(await last).toBe("last");
});
