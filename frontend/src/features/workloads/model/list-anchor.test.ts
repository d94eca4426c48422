import { expect, test } from "vitest";

import { anchorOf, rowKey, splitAtAnchor } from "./list-anchor";
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
