import { expect, test } from "vitest";

import { nextPage } from "./next-page";

const sizeOf = (items: number[]) => items.length;

interface Answer {
  data: number[];
  hasNextPage: boolean;
  isError?: boolean;
}

/** The second answer is given again and again. */
function reads(first: Answer, then: Answer = first) {
  const asked: boolean[] = [];
  const fetchNextPage = ({ cancelRefetch }: { cancelRefetch: boolean }) => {
    asked.push(cancelRefetch);
    return Promise.resolve({ isError: false, ...(asked.length === 1 ? first : then) });
  };
  return { asked, list: { data: [3, 2], fetchNextPage } };
}

test("a page is read once", async () => {
  const { asked, list } = reads({ data: [3, 2, 1], hasNextPage: true });
  expect(await nextPage(list, sizeOf)).toBe(true);
  expect(asked).toEqual([false]);
});

test("a page is read after a refetch that was under way, or that has cancelled it", async () => {
  const { asked, list } = reads({ data: [3, 2], hasNextPage: true }, { data: [3, 2, 1], hasNextPage: false });
  expect(await nextPage(list, sizeOf)).toBe(false);
  expect(asked).toEqual([false, false]);
});

test("what fails, or never grows, is not asked for without end", async () => {
  const failed = reads({ data: [3, 2], hasNextPage: true, isError: true });
  await nextPage(failed.list, sizeOf);
  expect(failed.asked).toHaveLength(1);
  const same = reads({ data: [3, 2], hasNextPage: true });
  await nextPage(same.list, sizeOf);
  expect(same.asked).toHaveLength(5);
});
