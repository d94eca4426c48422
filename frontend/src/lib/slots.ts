// Runs a few tasks at a time; the others wait in the order they came.
export class Slots {
  private busy = 0;
  private readonly waiting: (() => void)[] = [];
  private readonly most: number;

  constructor(most: number) {
    this.most = most;
  }

  /** Runs the task once fewer than the most are running; one that is aborted while it waits never runs. */
  async run<Answer>(task: () => Promise<Answer>, signal?: AbortSignal): Promise<Answer> {
    while (this.busy >= this.most) await new Promise<void>((resolve) => this.waiting.push(resolve));
    this.busy += 1;
    try {
      signal?.throwIfAborted();
      return await task();
    } finally {
      this.busy -= 1;
      this.waiting.shift()?.();
    }
  }
}
