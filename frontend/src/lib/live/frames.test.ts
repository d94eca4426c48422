import { expect, test } from "vitest";

import { cutFrames } from "./frames";

test("a frame is cut only once its blank line has arrived", () => {
  const first = cutFrames('id: 7\nevent: fact\ndata: {"a"');
  expect(first.frames).toEqual([]);
  const second = cutFrames(`${first.rest}:1}\n\nid: 8`);
  expect(second.frames).toEqual([{ id: "7", event: "fact", text: '{"a":1}' }]);
  expect(second.rest).toBe("id: 8");
});

test("heartbeat comments are no frames", () => {
  expect(cutFrames(": still here\n\n").frames).toEqual([]);
});

test("several lines of content are joined, and carriage returns are understood", () => {
  const cut = cutFrames("event: fact\r\ndata: one\r\ndata: two\r\n\r\n");
  expect(cut.frames).toEqual([{ id: "", event: "fact", text: "one\ntwo" }]);
});

test("a reset carries no content and still counts", () => {
  expect(cutFrames("event: reset\ndata:\n\n").frames).toEqual([{ id: "", event: "reset", text: "" }]);
});
