import { expect, test } from "vitest";

import { spansOf } from "./ansi";
import { type LogChunk, LogBuffer, bytesWords, linesWith } from "./log-buffer";

function chunk(text: string, changes: Partial<LogChunk> = {}): LogChunk {
  const bytes = new TextEncoder().encode(text);
  return {
    podSet: "main",
    index: 0,
    rank: 0,
    attempt: 1,
    run: 1,
    stream: "stdout",
    offset: 0,
    at: "2026-11-23T15:00:00Z",
    content: btoa(String.fromCharCode(...bytes)),
    ...changes,
  };
}

function buffered(...chunks: LogChunk[]): LogBuffer {
  const buffer = new LogBuffer();
  chunks.forEach((each) => buffer.take(each));
  buffer.settle();
  return buffer;
}

const textsOf = (buffer: LogBuffer) => buffer.lines.map(({ text }) => text);

test("a line without its end is shown and goes on with the next chunk", () => {
  const buffer = buffered(chunk("one\ntw"));
  expect(textsOf(buffer)).toEqual(["one", "tw"]);
  buffer.take(chunk("o\n\nthree\n", { offset: 6 }));
  expect(textsOf(buffer)).toEqual(["one", "two", "", "three"]);
});

test("a character that is cut by a chunk is whole", () => {
  const bytes = new TextEncoder().encode("größe\n");
  const text = (part: Uint8Array) => btoa(String.fromCharCode(...part));
  const first = { ...chunk(""), content: text(bytes.subarray(0, 3)) };
  const rest = { ...chunk(""), content: text(bytes.subarray(3)), offset: 3 };
  expect(textsOf(buffered(first, rest))).toEqual(["größe"]);
});

test("what a stream repeats after a break is taken once", () => {
  const again = chunk("one\ntwo\n");
  expect(textsOf(buffered(chunk("one\n"), again, again))).toEqual(["one", "two"]);
});

test("bytes that were not kept are a line of their own", () => {
  const buffer = buffered(chunk("begin\nha"), chunk("end\n", { offset: 3_000_000 }));
  expect(textsOf(buffer)).toEqual(["begin", "ha", "2.9 MiB of stdout not kept", "end"]);
  expect(buffer.lines[2]?.kind).toBe("gap");
});

test("a tail begins without a gap", () => {
  const buffer = buffered(chunk("late\n", { offset: 900 }));
  expect(textsOf(buffer)).toEqual(["late"]);
  expect(buffer.beginsLate).toBe(true);
  expect(buffered(chunk("whole\n")).beginsLate).toBe(false);
});

test("pods are in the order of time, and a new attempt begins with a line", () => {
  const late = chunk("b\n", { index: 1, rank: 1, at: "2026-11-23T15:00:02Z" });
  const early = chunk("a\n", { at: "2026-11-23T15:00:01Z" });
  expect(textsOf(buffered(late, early))).toEqual(["a", "b"]);
  const next = chunk("c\n", { attempt: 2, at: "2026-11-23T15:00:03Z" });
  expect(textsOf(buffered(late, early, next))).toEqual(["a", "b", "Attempt 2", "c"]);
});

test("sequences that a terminal obeys never reach the text, and colors become looks", () => {
  const hostile = "\u001b]0;title\u0007\u001b[2J\u001b[31mred <b>\u001b[0m\u001b(B\u0008plain\u202e";
  const [line] = buffered(chunk(`${hostile}\n`)).lines;
  expect(line?.text).toBe("red <b>plain");
  const spans = spansOf(line?.shown ?? "");
  expect(spans.map(({ text, color }) => [text, color])).toEqual([
    ["red <b>", "red"],
    ["plain", undefined],
  ]);
});

test("of a progress bar that writes over itself the last state is shown", () => {
  expect(textsOf(buffered(chunk("10 %\r50 %\r100 %\r\n")))).toEqual(["100 %"]);
});

test("a search finds lines whatever the case", () => {
  const { lines } = buffered(chunk("Error one\nfine\nan error\n"));
  expect(linesWith(lines, "ERROR")).toEqual([0, 2]);
  expect(linesWith(lines, "")).toEqual([]);
});

test("bytes are said in one unit", () => {
  expect([12, 2048, 12 * 1024 * 1024].map(bytesWords)).toEqual(["12 bytes", "2.0 KiB", "12 MiB"]);
});
