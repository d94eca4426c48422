// The lines of pods' logs as they come in chunks, in the order they were received, with gaps as lines of their own.
import { displayable, plainText } from "./ansi";

/** One chunk of a pod's output as the server sends it; `content` is base64. */
export interface LogChunk {
  podSet: string;
  index: number;
  rank: number;
  attempt: number;
  run: number;
  stream: "stdout" | "stderr";
  offset: number;
  at: string;
  content: string;
}

export interface LogLine {
  key: number;
  kind: "output" | "gap" | "attempt";
  at: string;
  rank: number;
  stream: "stdout" | "stderr";
  /** With looks of a terminal, and nothing else that one obeys. */
  shown: string;
  text: string;
}

interface Source {
  end: number;
  decoder: TextDecoder;
  /** The line that has no end yet, and all of it as it was written. */
  open?: { line: LogLine; written: string };
}

export const MAX_LINES = 200_000;
const MAX_LINE_CHARACTERS = 16_384;

export class LogBuffer {
  lines: LogLine[] = [];
  /** How many lines were dropped from the beginning. */
  dropped = 0;
  /** Whether output before the first lines was left out, as for a tail. */
  beginsLate = false;
  private readonly sources = new Map<string, Source>();
  private attempt = 0;
  private made = 0;

  /** Takes a chunk; what was taken before is left out, so that a stream may be read again. */
  take(chunk: LogChunk): void {
    const source = this.sourceOf(chunk);
    if (source.end < 0 && chunk.offset > 0) this.beginsLate = true;
    const all = bytesOf(chunk.content);
    let bytes = all;
    if (source.end >= 0 && chunk.offset > source.end) this.skip(chunk, source);
    else if (source.end > chunk.offset) bytes = bytes.subarray(source.end - chunk.offset);
    if (bytes.length === 0) return;
    source.end = chunk.offset + all.length;
    if (chunk.attempt > this.attempt) this.begin(chunk);
    this.write(chunk, source, source.decoder.decode(bytes, { stream: true }));
  }

  /** Puts lines that came late into their place, and drops the earliest of too many. */
  settle(): void {
    const isOrdered = this.lines.every((line, index) => index === 0 || (this.lines[index - 1]?.at ?? "") <= line.at);
    if (!isOrdered) this.lines.sort((one, other) => (one.at < other.at ? -1 : one.at > other.at ? 1 : one.key - other.key));
    if (this.lines.length <= MAX_LINES) return;
    const surplus = this.lines.length - Math.floor(MAX_LINES * 0.9);
    this.dropped += surplus;
    this.lines = this.lines.slice(surplus);
  }

  private sourceOf({ podSet, index, attempt, run, stream }: LogChunk): Source {
    const name = [podSet, index, attempt, run, stream].join("/");
    let source = this.sources.get(name);
    if (source === undefined) {
      source = { end: -1, decoder: new TextDecoder() };
      this.sources.set(name, source);
    }
    return source;
  }

  private begin(chunk: LogChunk): void {
    if (this.attempt > 0) this.add(chunk, "attempt", `Attempt ${chunk.attempt}`);
    this.attempt = chunk.attempt;
  }

  private skip(chunk: LogChunk, source: Source): void {
    const missing = chunk.offset - source.end;
    source.open = undefined;
    source.decoder = new TextDecoder();
    this.add(chunk, "gap", `${bytesWords(missing)} of ${chunk.stream} not kept`);
  }

  private write(chunk: LogChunk, source: Source, text: string): void {
    const pieces = text.split("\n");
    pieces.forEach((piece, index) => {
      const written = (source.open?.written ?? "") + piece;
      const isWhole = index < pieces.length - 1;
      if (isWhole || written !== "") this.put(chunk, source, written);
      if (isWhole || written.length >= MAX_LINE_CHARACTERS) source.open = undefined;
    });
  }

  private put(chunk: LogChunk, source: Source, written: string): void {
    const line = source.open?.line ?? this.add(chunk, "output", "");
    line.shown = displayable(written);
    line.text = plainText(line.shown);
    source.open = { line, written };
  }

  private add({ at, rank, stream }: LogChunk, kind: LogLine["kind"], text: string): LogLine {
    const line: LogLine = { key: this.made++, kind, at, rank, stream, shown: text, text };
    this.lines.push(line);
    return line;
  }
}

function bytesOf(content: string): Uint8Array {
  return Uint8Array.from(atob(content), (character) => character.charCodeAt(0));
}

/** A number of bytes in words, such as `12 MiB`. */
export function bytesWords(bytes: number): string {
  const units = ["bytes", "KiB", "MiB", "GiB"];
  const power = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10));
  const amount = bytes / 1024 ** power;
  return `${power === 0 || amount >= 10 ? Math.round(amount) : amount.toFixed(1)} ${units[power] ?? ""}`;
}

/** The places of the lines that have a text in them, whatever its case. */
export function linesWith(lines: readonly LogLine[], text: string): number[] {
  if (text === "") return [];
  const wanted = text.toLowerCase();
  return lines.flatMap((line, index) => (line.text.toLowerCase().includes(wanted) ? [index] : []));
}
