// Collects changed topics and refreshes them together, so that many events cause few requests.

export interface Timers {
  now: () => number;
  after: (milliseconds: number, run: () => void) => () => void;
}

const REAL_TIMERS: Timers = {
  now: () => Date.now(),
  after: (milliseconds, run) => {
    const handle = setTimeout(run, milliseconds);
    return () => clearTimeout(handle);
  },
};

/** How long changes are gathered before the first refresh after a quiet time. */
const GATHER_MILLISECONDS = 125;

/**
 * Calls `refresh` with everything marked since the last time.
 *
 * `refresh` resolves to the requests that it sent; `pause` says how long to wait after as many, or Infinity for not now.
 */
export class Coalescer {
  private readonly marked = new Set<string>();
  private cancel: (() => void) | null = null;
  private busy = false;
  private requests = 0;
  private endedAt = -Infinity;

  constructor(
    private readonly refresh: (topics: ReadonlySet<string>) => Promise<number>,
    private readonly pause: (requests: number) => number,
    private readonly timers: Timers = REAL_TIMERS,
  ) {}

  mark(topics: Iterable<string>): void {
    for (const topic of topics) this.marked.add(topic);
    this.schedule();
  }

  /** The pause may be another one now: what is marked is scheduled again by it. */
  reschedule(): void {
    this.cancel?.();
    this.cancel = null;
    this.schedule();
  }

  stop(): void {
    this.cancel?.();
    this.cancel = null;
    this.marked.clear();
  }

  private schedule(): void {
    if (this.busy || this.cancel !== null || this.marked.size === 0) return;
    const pause = this.pause(this.requests);
    if (pause === Infinity) return;
    const left = this.endedAt + pause - this.timers.now();
    this.cancel = this.timers.after(Math.max(GATHER_MILLISECONDS, left), () => {
      this.cancel = null;
      void this.flush();
    });
  }

  private async flush(): Promise<void> {
    const topics = new Set(this.marked);
    this.marked.clear();
    this.busy = true;
    try {
      this.requests = await this.refresh(topics);
    } finally {
      this.busy = false;
      this.endedAt = this.timers.now();
      this.schedule();
    }
  }
}
