// The moment everything on screen is shown at: empty for now, else a log position or a time.
const NAME = "at";
/** Resources without a past: the identity of the caller, and what is kept beside the log. */
const OF_NOW = ["/v1/backtests", "/v1/can-i", "/v1/simulations", "/v1/system", "/v1/tokens", "/v1/views", "/v1/whoami"];
const listeners = new Set<() => void>();
let moment = typeof window === "undefined" ? "" : momentIn(window.location.search);

/** Why nothing can be changed while the past is on screen. */
export const PAST_REFUSAL = "Read-only: you are viewing the past. Return to live to make changes.";

/** The moment that is shown; empty means now. */
export function shownMoment(): string {
  return moment;
}

/** Shows everything as it was at a position or time; empty text goes back to now. */
export function showMoment(next: string): void {
  if (next === moment) return;
  moment = next;
  for (const listener of listeners) listener();
}

/** Calls back whenever another moment is shown. */
export function onMomentChange(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** The moment that an address names. */
export function momentIn(search: string): string {
  return new URLSearchParams(search).get(NAME) ?? "";
}

/** The log position that a moment is given as; none for a time. */
export function positionOf(text: string): number | undefined {
  return /^\d+$/.test(text) ? Number(text) : undefined;
}

/** Gives the address of a read the moment it is about; `at=now` asks for the present in any case. */
export function withMoment(address: URL, at: string, known: number): URL {
  const asked = address.searchParams.get(NAME);
  if (asked === "now") address.searchParams.delete(NAME);
  else if (asked === null && at !== "" && !isOfNow(address.pathname)) address.searchParams.set(NAME, at);
  const isPresent = !address.searchParams.has(NAME);
  if (isPresent && known > 0) address.searchParams.set("minPosition", String(known));
  return address;
}

function isOfNow(path: string): boolean {
  return OF_NOW.some((one) => path === one || path.startsWith(`${one}/`));
}
