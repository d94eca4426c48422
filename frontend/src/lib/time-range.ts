// The time range that all pages share: a length that ends now, or two instants; it stands in the address.
import { isSameDay } from "./format/times";
import { inZone } from "./format/zone";

export interface TimeRange {
  /** A preset that ends now, such as "24h"; empty for two fixed instants. */
  last: string;
  /** RFC 3339; empty with a preset. */
  from: string;
  to: string;
}

export const PRESETS: readonly { value: string; words: string; seconds: number }[] = [
  { value: "1h", words: "Last hour", seconds: 3_600 },
  { value: "6h", words: "Last 6 hours", seconds: 21_600 },
  { value: "24h", words: "Last 24 hours", seconds: 86_400 },
  { value: "7d", words: "Last 7 days", seconds: 604_800 },
  { value: "30d", words: "Last 30 days", seconds: 2_592_000 },
];
const USUAL = "24h";
const UNITS: Record<string, number> = { m: 60, h: 3_600, d: 86_400, w: 604_800 };
const MILLISECONDS = 1_000;
const MINUTE = 60_000;

/** The names of the parameters in the address; links between pages keep them. */
export const RANGE_PARAMETERS = ["last", "from", "to"] as const;

/** The range that an address names; the last 24 hours without one. */
export function rangeIn(search: string): TimeRange {
  const parameters = new URLSearchParams(search);
  const [from, to] = [parameters.get("from") ?? "", parameters.get("to") ?? ""];
  if (isInstant(from) && isInstant(to) && Date.parse(from) < Date.parse(to)) return { last: "", from, to };
  const last = parameters.get("last") ?? "";
  return { last: secondsOf(last) === undefined ? USUAL : last, from: "", to: "" };
}

/** What an address says of a range: nothing for the usual one. */
export function parametersOf(range: TimeRange): Record<(typeof RANGE_PARAMETERS)[number], string> {
  return { last: range.last === USUAL ? "" : range.last, from: range.from, to: range.to };
}

/** A range between two instants in milliseconds, in either order. */
export function rangeBetween(one: number, other: number): TimeRange {
  const [from, to] = [Math.min(one, other), Math.max(one, other)];
  return { last: "", from: new Date(from).toISOString(), to: new Date(to).toISOString() };
}

/** The range in words, as the picker shows it. */
export function rangeWords(range: TimeRange): string {
  if (range.last === "") return `${shortTime(range.from)} to ${shortTime(range.to, range.from)}`;
  return PRESETS.find(({ value }) => value === range.last)?.words ?? `Last ${range.last}`;
}

/** The seconds of a typed length such as "90m" or "2 h"; undefined for anything else. */
export function secondsOf(text: string): number | undefined {
  const match = /^\s*(\d{1,4})\s*([mhdw])\s*$/i.exec(text);
  if (match === null) return undefined;
  const seconds = Number(match[1]) * (UNITS[(match[2] ?? "").toLowerCase()] ?? 0);
  return seconds > 0 ? seconds : undefined;
}

/** The bounds in milliseconds, of a preset before `now`. */
export function boundsOf(range: TimeRange, now: number): [number, number] {
  if (range.last === "") return [Date.parse(range.from), Date.parse(range.to)];
  return [now - (secondsOf(range.last) ?? 86_400) * MILLISECONDS, now];
}

/** The bounds as parameters of the API: a preset names only its beginning, to the minute, so that it is found in caches. */
export function apiBounds(range: TimeRange, now: number): { since: string; until?: string } {
  const [from] = boundsOf(range, now);
  if (range.last !== "") return { since: new Date(Math.floor(from / MINUTE) * MINUTE).toISOString() };
  return { since: range.from, until: range.to };
}

/** Where the axis begins that has little to show before the log began: there; undefined where the range is mostly known. */
export function beginningOf(range: TimeRange, dataSince: string | undefined, now: number): string | undefined {
  if (range.last === "" || dataSince === undefined) return undefined;
  const [from, to] = boundsOf(range, now);
  const minute = Math.floor(Date.parse(dataSince) / MINUTE) * MINUTE;
  return minute - from > (to - from) / 2 ? new Date(minute).toISOString() : undefined;
}

/** The same two instants whenever it is opened, for a link that another person reads later. */
export function fixedRange(range: TimeRange, now: number): TimeRange {
  const [from, to] = boundsOf(range, now);
  return rangeBetween(from, to);
}

function isInstant(text: string): boolean {
  return /^\d{4}-\d{2}-\d{2}T/.test(text) && !Number.isNaN(Date.parse(text));
}

function shortTime(at: string, beside = ""): string {
  const instant = new Date(at);
  const day = inZone(instant, { day: "numeric", month: "short" });
  const clock = inZone(instant, { hour: "2-digit", minute: "2-digit" });
  const sameDay = beside !== "" && isSameDay(new Date(beside), instant);
  return sameDay ? clock : `${day} ${clock}`;
}
