// The histogram of waits: which buckets are shown, their words, and where a wait stands among them.
import type { WaitTimes } from "@/lib/api/types";
import { formatDuration } from "@/lib/format/times";

export interface WaitBar {
  fromSeconds: number;
  /** Undefined for the last bucket of all, which has no end. */
  toSeconds: number | undefined;
  count: number;
  words: string;
}

/** How many of the latest starts fell inside the range that was told at their submission; empty without one. */
export function estimateWords({ estimates }: Pick<WaitTimes, "estimates">): string {
  if (estimates === null || estimates.predictions === 0) return "";
  const { held, predictions } = estimates;
  const starts = predictions === 1 ? "start" : "starts";
  const share = Math.round((100 * held) / predictions);
  return `${held.toLocaleString("en")} of ${predictions.toLocaleString("en")} ${starts} fell inside the estimated range: ${share}% (aim 80%).`;
}

/** Fewer bars than these would not look like a scale. */
const MIN_BARS = 4;

/** The buckets up to the longest wait. */
export function waitBars(buckets: WaitTimes["buckets"]): WaitBar[] {
  const last = buckets.findLastIndex(({ count }) => count > 0);
  return buckets.slice(0, Math.max(MIN_BARS, last + 1)).map(({ fromSeconds, count }, index) => {
    const toSeconds = buckets[index + 1]?.fromSeconds;
    return { fromSeconds, toSeconds, count, words: bucketWords(fromSeconds, toSeconds) };
  });
}

function bucketWords(from: number, to: number | undefined): string {
  if (to === undefined) return `${formatDuration(from)} or more`;
  return from === 0 ? `under ${formatDuration(to)}` : `${formatDuration(from)} to ${formatDuration(to)}`;
}

/** Where a wait stands across all bars, in percent; in the middle of a bar without an end. */
export function placeOf(seconds: number, bars: readonly WaitBar[]): number {
  const index = bars.findLastIndex(({ fromSeconds }) => fromSeconds <= seconds);
  const bar = bars[index];
  if (bar === undefined) return 0;
  const share = bar.toSeconds === undefined ? 0.5 : Math.min(1, (seconds - bar.fromSeconds) / (bar.toSeconds - bar.fromSeconds));
  return (100 * (index + share)) / bars.length;
}
