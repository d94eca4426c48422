import { QueryClient, QueryObserver } from "@tanstack/react-query";
import { describe, expect, it } from "vitest";

import { refreshTouched } from "./refresh";

/** A query on screen: its reads answer when told to, each with its number. */
function shown(client: QueryClient, queryKey: string[]) {
  const answers: (() => void)[] = [];
  const observer = new QueryObserver(client, {
    queryKey,
    queryFn: () => new Promise<number>((resolve) => answers.push(() => resolve(answers.length))),
    retry: false,
  });
  const end = observer.subscribe(() => undefined);
  const answer = async (number: number) => {
    while (answers.length < number) await new Promise((resolve) => setTimeout(resolve, 0));
    answers[number - 1]?.();
  };
  return { answer, reads: () => answers.length, data: () => client.getQueryData(queryKey), end };
}

describe("refreshTouched", () => {
  it("reads again what was first asked for before the change", async () => {
    const client = new QueryClient();
    const verdict = shown(client, ["workload", "team/a", "explanation"]);
    const refreshed = refreshTouched(client, new Set(["workload/team/a"]));
    await verdict.answer(1);
    await verdict.answer(2);
    await refreshed;
    expect([verdict.reads(), verdict.data()]).toEqual([2, 2]);
    verdict.end();
  });

  it("reads once what is there, and nothing else", async () => {
    const client = new QueryClient();
    const [touched, other] = [shown(client, ["workload", "team/a"]), shown(client, ["workload", "team/b"])];
    await Promise.all([touched.answer(1), other.answer(1)]);
    await new Promise((resolve) => setTimeout(resolve, 0));
    const refreshed = refreshTouched(client, new Set(["workload/team/a"]));
    await touched.answer(2);
    await refreshed;
    expect([touched.reads(), other.reads()]).toEqual([2, 1]);
    touched.end();
    other.end();
  });
});
