import { expect, test } from "vitest";

import type { QueueNode, QuotaLine } from "@/lib/api/types";

import { fairShareWords, findQueue, limitsOf, piecesOf, wordsOf } from "./quota-bar";

const LINE: QuotaLine = {
  flavor: "a100",
  resource: "nvidia.com/gpu",
  nominal: 8,
  used: 6,
  borrowed: 0,
  lent: 0,
  available: 2,
};

test("own use is a share of the nominal quota", () => {
  expect(piecesOf(LINE)).toEqual({ own: 0.75, lent: 0, borrowed: 0, over: 0, nominalAt: 1 });
});

test("what is borrowed lies past the mark of the nominal quota", () => {
  const pieces = piecesOf({ ...LINE, used: 12, borrowed: 4 });
  expect(pieces.own + pieces.borrowed).toBeCloseTo(1);
  expect(pieces.nominalAt).toBeCloseTo(8 / 12);
});

test("a queue without quota of its own may still borrow", () => {
  expect(piecesOf({ ...LINE, nominal: 0, used: 4, borrowed: 4 })).toEqual({ own: 0, lent: 0, borrowed: 1, over: 0, nominalAt: 0 });
  expect(piecesOf({ ...LINE, nominal: 0, used: 0 })).toEqual({ own: 0, lent: 0, borrowed: 0, over: 0, nominalAt: 1 });
});

test("what is over all quota is told apart from own use and from loans", () => {
  const cut = { ...LINE, nominal: 1, used: 9, borrowed: 3, overcommitted: 5, borrowedFrom: [{ clusterQueue: "b", amount: 3 }] };
  expect(piecesOf(cut)).toEqual({ own: 1 / 9, lent: 0, borrowed: 3 / 9, over: 5 / 9, nominalAt: 1 / 9 });
  expect(wordsOf(cut)).toBe("9 of 1 used, 3 borrowed from b, 5 over quota");
});

test("words name lenders and borrowers", () => {
  expect(wordsOf({ ...LINE, used: 12, borrowed: 4, borrowedFrom: [{ clusterQueue: "b", amount: 4 }] })).toBe(
    "12 of 8 used, 4 borrowed from b",
  );
  const lent = [
    { clusterQueue: "c", amount: 1 },
    { clusterQueue: "d", amount: 2 },
  ];
  expect(wordsOf({ ...LINE, lent: 3, lentTo: lent })).toBe("6 of 8 used, 3 lent to c (1), d (2)");
});

test("a queue knows its cohorts", () => {
  const queue: QueueNode = { kind: "ClusterQueue", name: "a", children: [], lines: [] };
  const roots: QueueNode[] = [{ kind: "Cohort", name: "org", children: [queue], lines: [] }];
  expect(findQueue(roots, "a")?.cohorts).toEqual(["org"]);
  expect(findQueue(roots, "org")).toBeUndefined();
});

test("limits are told where there are any", () => {
  expect(limitsOf(LINE)).toBe("");
  expect(limitsOf({ ...LINE, borrowingLimit: 0, lendingLimit: 3 })).toBe("borrowing limit 0, lending limit 3");
});

test("a fair share is told while something is borrowed", () => {
  const node: QueueNode = { kind: "ClusterQueue", name: "a", children: [], lines: [] };
  expect(fairShareWords(node)).toBeUndefined();
  expect(fairShareWords({ ...node, weightedShare: 125 })).toBe("fair share 12.5%");
  expect(fairShareWords({ ...node, weightedShare: Number("9223372036854775807") })).toBe("fair-sharing weight 0 (always last)");
});
