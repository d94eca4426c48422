// The furthest log position this tab knows of; reads ask the server to be at least that far.
let known = 0;
let logs = 1;

/** The position that reads must reach, 0 while nothing is known. */
export function knownPosition(): number {
  return known;
}

/** Takes note of a position that was written or streamed. */
export function notePosition(position: number): void {
  if (position > known) known = position;
}

/** Forgets everything: the server said that the log is another one. */
export function forgetPosition(): void {
  known = 0;
  logs += 1;
}

/** Which log positions are of, as a number that grows when the log is another one. */
export function knownLog(): number {
  return logs;
}
