// The output of pods as it comes, through every break of the connection, as lines that a view can draw.
import { createParser } from "eventsource-parser";
import { useEffect, useMemo, useState } from "react";

import { backoffMilliseconds } from "@/lib/live/connection";
import { type LogChunk, LogBuffer } from "@/lib/logs/log-buffer";

import { type LogSelection, followLogs } from "./pods";

export type LogLink = "connecting" | "following" | "interrupted" | "ended" | "refused";

export interface PodLogs {
  buffer: LogBuffer;
  link: LogLink;
  /** Why the server does not show them. */
  error?: unknown;
  /** Rises with every change of the buffer, which is one object for as long as the selection is the same. */
  version: number;
}

const DRAW_MILLISECONDS = 150;
const CLIENT_ERRORS = [400, 499] as const;

/** Follows the output of a selection, from the last `tail` lines of each pod or from the beginning. */
export function usePodLogs(key: string, selection: LogSelection, tail: number | undefined): PodLogs {
  const { attempt, pod, run, stream } = selection;
  const name = [key, attempt, pod, run, stream, tail].join("|");
  const fresh = useMemo((): PodLogs & { name: string } => ({ name, buffer: new LogBuffer(), link: "connecting", version: 0 }), [name]);
  const [shown, setShown] = useState(fresh);
  useEffect(() => {
    const abort = new AbortController();
    const follower = new Follower(fresh.buffer, (change) => setShown((known) => ({ ...(known.name === name ? known : fresh), ...change })));
    void follower.run((signal) => followLogs(key, { attempt, pod, run, stream }, tail, signal), abort.signal);
    return () => {
      abort.abort();
      follower.stop();
    };
  }, [fresh, name, key, attempt, pod, run, stream, tail]);
  return shown.name === name ? shown : fresh;
}

type Open = (signal: AbortSignal) => Promise<Response>;
type Tell = (change: Partial<PodLogs>) => void;

class Follower {
  private version = 0;
  private timer: ReturnType<typeof setTimeout> | undefined;
  private hasEnded = false;

  constructor(
    private readonly buffer: LogBuffer,
    private readonly tell: Tell,
  ) {}

  async run(open: Open, signal: AbortSignal): Promise<void> {
    const isOver = () => this.hasEnded || signal.aborted;
    for (let attempt = 0; !isOver(); attempt++) {
      try {
        const answer = await open(signal);
        this.tell({ link: "following" });
        attempt = 0;
        if (answer.body !== null) await this.read(answer.body);
      } catch (error) {
        if (isOver()) return;
        if (isRefusal(error)) {
          this.tell({ link: "refused", error });
          return;
        }
      }
      if (isOver()) return;
      this.tell({ link: "interrupted" });
      await new Promise((resolve) => setTimeout(resolve, backoffMilliseconds(attempt, Math.random())));
    }
  }

  stop(): void {
    clearTimeout(this.timer);
    this.hasEnded = true;
  }

  private async read(body: ReadableStream<Uint8Array>): Promise<void> {
    const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
    const parser = createParser({
      onEvent: ({ event, data }) => {
        if (event === "log") this.buffer.take(JSON.parse(data) as LogChunk);
        if (event === "end") this.hasEnded = true;
        this.draw();
      },
    });
    while (!this.hasEnded) {
      const { done, value } = await reader.read();
      if (done) return;
      parser.feed(value);
    }
    await reader.cancel();
  }

  private draw(): void {
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      this.buffer.settle();
      this.tell({ version: ++this.version, ...(this.hasEnded ? { link: "ended" as const } : {}) });
    }, DRAW_MILLISECONDS);
  }
}

function isRefusal(error: unknown): boolean {
  const status = (error as { problem?: { status?: number } }).problem?.status ?? 0;
  const [first, last] = CLIENT_ERRORS;
  return status >= first && status <= last && status !== 429;
}
