// Collects changed topics and refreshes them together, so that many events cause few requests.

export interface Timers {
  after: (milliseconds: number, run: () => void) => () => void;
}

const REAL_TIMERS: Timers = {
  after: (milliseconds, run) => {
    const handle = setTimeout(run, milliseconds);
    return () => clearTimeout(handle);
  },
};

/** Calls `refresh` with everything marked since the last time, never sooner than `pause` after it ended. */
export class Coalescer {
  private readonly marked = new Set<string>();
  private cancel: (() => void) | null = null;
  private busy = false;

  constructor(
    private readonly refresh: (topics: ReadonlySet<string>) => Promise<unknown>,
    private readonly pauseMilliseconds = 500,
    private readonly timers: Timers = REAL_TIMERS,
  ) {}

  mark(topics: Iterable<string>): void {
    for (const topic of topics) this.marked.add(topic);
    this.schedule(this.pauseMilliseconds / 4);
  }

  stop(): void {
    this.cancel?.();
    this.cancel = null;
    this.marked.clear();
  }

  private schedule(milliseconds: number): void {
    if (this.busy || this.cancel !== null || this.marked.size === 0) return;
    this.cancel = this.timers.after(milliseconds, () => {
      this.cancel = null;
      void this.flush();
    });
  }

  private async flush(): Promise<void> {
    const topics = new Set(this.marked);
    this.marked.clear();
    this.busy = true;
    try {
      await this.refresh(topics);
    } finally {
      this.busy = false;
      this.schedule(this.pauseMilliseconds);
    }
  }
}
