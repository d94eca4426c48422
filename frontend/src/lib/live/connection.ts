// One connection to the server's event stream; it reconnects automatically and misses no event.
import { type EventSourceMessage, createParser } from "eventsource-parser";

import { forgetPosition, knownPosition, notePosition } from "@/lib/api/position";
import { openStream } from "@/lib/api/request";
import type { Fact } from "@/lib/api/types";

export type Link = "connecting" | "connected" | "reconnecting" | "stale";

export interface Freshness {
  link: Link;
  position: number;
  heardAt: number;
}

export interface StreamListener {
  facts: (facts: Fact[]) => void;
  /** Everything on screen may be out of date: the connection is new, or the log is another one. */
  everything: () => void;
  freshness: (freshness: Freshness) => void;
}

const SILENCE_MILLISECONDS = 40_000;
const STALE_MILLISECONDS = 10_000;
const MAX_WAIT_MILLISECONDS = 15_000;

/** How long to wait before the given attempt: doubling from half a second, with some chance in it. */
export function backoffMilliseconds(attempt: number, chance: number): number {
  const full = Math.min(MAX_WAIT_MILLISECONDS, 500 * 2 ** attempt);
  return full * (0.5 + chance / 2);
}

export class LiveConnection {
  private freshness: Freshness = { link: "connecting", position: 0, heardAt: Date.now() };
  private abort = new AbortController();
  private stopped = false;
  private attempt = 0;
  private wake: () => void = () => undefined;

  constructor(private readonly listener: StreamListener) {}

  start(): () => void {
    const hurry = () => this.hurry();
    const drop = () => this.abort.abort();
    window.addEventListener("online", hurry);
    window.addEventListener("offline", drop);
    void this.run();
    return () => {
      this.stopped = true;
      window.removeEventListener("online", hurry);
      window.removeEventListener("offline", drop);
      this.abort.abort();
      this.wake();
    };
  }

  private hurry(): void {
    this.attempt = 0;
    this.wake();
  }

  private isOver(): boolean {
    return this.stopped;
  }

  private async run(): Promise<void> {
    while (!this.isOver()) {
      this.abort = new AbortController();
      await this.listen(this.abort).catch(() => undefined);
      if (this.isOver()) return;
      this.report({ link: this.isStale() ? "stale" : "reconnecting" });
      await this.pause(backoffMilliseconds(this.attempt++, Math.random()));
    }
  }

  private async listen(abort: AbortController): Promise<void> {
    const answer = await openStream(this.freshness.position || knownPosition(), abort.signal);
    if (answer.body === null) return;
    this.attempt = 0;
    // Until the first event arrives, the response itself says the position of the log.
    const position = this.freshness.position || Number(answer.headers.get("x-log-position") ?? 0);
    this.report({ link: "connected", heardAt: Date.now(), position });
    this.listener.everything();
    await this.readAll(answer.body, abort);
  }

  private async readAll(body: ReadableStream<Uint8Array>, abort: AbortController): Promise<void> {
    const reader = body.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>).getReader();
    let messages: EventSourceMessage[] = [];
    const parser = createParser({ onEvent: (message) => messages.push(message) });
    for (;;) {
      const silence = setTimeout(() => abort.abort(), SILENCE_MILLISECONDS);
      const { done, value } = await reader.read().finally(() => clearTimeout(silence));
      if (done) return;
      messages = [];
      parser.feed(value);
      this.take(messages);
    }
  }

  private take(messages: EventSourceMessage[]): void {
    if (messages.some(({ event }) => event === "reset")) {
      forgetPosition();
      this.report({ position: 0, heardAt: Date.now() });
      this.listener.everything();
      this.abort.abort();
      return;
    }
    const facts = messages.filter(({ event }) => event === "fact").map(({ data }) => JSON.parse(data) as Fact);
    const last = facts.at(-1);
    if (last !== undefined) notePosition(last.position);
    this.report({ position: last?.position ?? this.freshness.position, heardAt: Date.now() });
    if (facts.length > 0) this.listener.facts(facts);
  }

  private isStale(): boolean {
    return Date.now() - this.freshness.heardAt > STALE_MILLISECONDS;
  }

  private report(change: Partial<Freshness>): void {
    this.freshness = { ...this.freshness, ...change };
    this.listener.freshness(this.freshness);
  }

  private pause(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      const handle = setTimeout(resolve, milliseconds);
      this.wake = () => {
        clearTimeout(handle);
        resolve();
      };
    });
  }
}
