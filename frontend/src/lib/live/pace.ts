// How often the interface reads again: each second while it is used, at most twelve requests a minute while it is only watched.

export type Presence = "active" | "idle" | "hidden";

const IDLE_AFTER_MILLISECONDS = 20_000;
const ACTIVE_PAUSE_MILLISECONDS = 1_000;
const IDLE_MILLISECONDS_PER_REQUEST = 6_000;
const MAX_PAUSE_MILLISECONDS = 60_000;
const INPUTS = ["pointerdown", "pointermove", "keydown", "wheel", "touchstart"] as const;

/** The pause after a refresh of so many requests: up to twelve of them never exceed twelve in a minute. */
export function pauseAfter(requests: number, presence: Presence): number {
  if (presence === "hidden") return Infinity;
  if (presence === "active") return ACTIVE_PAUSE_MILLISECONDS;
  return requests > 6 ? MAX_PAUSE_MILLISECONDS : Math.max(ACTIVE_PAUSE_MILLISECONDS, requests * IDLE_MILLISECONDS_PER_REQUEST);
}

/** Knows whether the page is used, only watched, or out of sight; loading a page counts as using it. */
export class PresenceWatch {
  private usedAt = Date.now();

  /** `onReturn` is called when the page is used or in sight again. */
  constructor(private readonly onReturn: () => void) {}

  get presence(): Presence {
    if (document.visibilityState === "hidden") return "hidden";
    return Date.now() - this.usedAt < IDLE_AFTER_MILLISECONDS ? "active" : "idle";
  }

  start(): () => void {
    const used = () => {
      const before = this.presence;
      this.usedAt = Date.now();
      if (before !== "active") this.onReturn();
    };
    const shown = () => {
      if (document.visibilityState === "visible") used();
    };
    for (const input of INPUTS) window.addEventListener(input, used, { capture: true, passive: true });
    document.addEventListener("visibilitychange", shown);
    return () => {
      for (const input of INPUTS) window.removeEventListener(input, used, { capture: true });
      document.removeEventListener("visibilitychange", shown);
    };
  }
}
