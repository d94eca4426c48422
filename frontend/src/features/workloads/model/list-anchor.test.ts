import { expect, test } from "vitest";

import { anchorOf, rowKey, splitAtAnchor, withGone } from "./list-anchor";
import { rowOf } from "./rows-of-tests";

const OLD = rowOf({ name: "old", submittedAt: "2026-05-04T12:00:00Z" });
const NEW = rowOf({ name: "new", submittedAt: "2026-05-04T12:00:05.250000Z" });

test("what is submitted after the list was let in waits behind the button", () => {
  const arranged = splitAtAnchor([NEW, OLD], anchorOf([OLD]));
  expect(arranged.shown.map(rowKey)).toEqual(["team-a/old"]);
  expect(arranged.waiting).toBe(1);
});

test("older pages are shown as they are loaded", () => {
  expect(splitAtAnchor([NEW, OLD], anchorOf([NEW])).waiting).toBe(0);
});

test("an empty list shows its first arrivals at once", () => {
  expect(splitAtAnchor([NEW], anchorOf([])).shown).toHaveLength(1);
});

test("within one second the order of the list decides", () => {
  const later = rowOf({ name: "later", submittedAt: NEW.submittedAt });
  expect(splitAtAnchor([later, NEW, OLD], anchorOf([NEW, OLD])).waiting).toBe(1);
});

test("when the anchor leaves the list, what came after it still waits", () => {
  expect(splitAtAnchor([NEW, OLD], { at: "2026-05-04T12:00:03Z", key: "team-a/gone" }).shown).toEqual([OLD]);
});

const ROWS = ["a", "b", "c", "d"].map((name) => rowOf({ name }));
const KEPT = ROWS.map((row) => ({ row, isGone: false }));
const told = (kept: ReturnType<typeof withGone>) => kept.map(({ row, isGone }) => row.name + (isGone ? "!" : "")).join(" ");

test("a row that leaves the list stays at its place until the list is read anew", () => {
  const [a, b, c, d] = ROWS as [(typeof KEPT)[0]["row"], (typeof KEPT)[0]["row"], (typeof KEPT)[0]["row"], (typeof KEPT)[0]["row"]];
  const once = withGone(KEPT, [b, d], false);
  expect(told(once)).toBe("a! b c! d");
  expect(told(withGone(once, [b], false))).toBe("a! b c! d!");
  expect(told(withGone(once, [a, b, c, d], false))).toBe("a b c d");
  expect(told(withGone([], [a, b], false))).toBe("a b");
});

test("rows that newer ones push to a later page have not left the list", () => {
  expect(told(withGone(KEPT, [rowOf({ name: "new" }), ...ROWS.slice(0, 3)], true))).toBe("new a b c");
});
