// Instants and lengths of time in words a person reads at a glance.
import { inZone, isUtc } from "./zone";

const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** A length of time in its two largest units: "2 h 10 m", "3 d 4 h", "12 s". */
export function formatDuration(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < MINUTE) return `${whole} s`;
  if (whole < HOUR) return pair(whole, MINUTE, "m", 1, "s");
  if (whole < DAY) return pair(whole, HOUR, "h", MINUTE, "m");
  return pair(whole, DAY, "d", HOUR, "h");
}

function pair(seconds: number, large: number, largeName: string, small: number, smallName: string): string {
  const first = Math.floor(seconds / large);
  const second = Math.floor((seconds % large) / small);
  return second === 0 ? `${first} ${largeName}` : `${first} ${largeName} ${second} ${smallName}`;
}

/** A length of time in its largest fitting unit, rounded: "15 m", "24 h", "7 d". */
export function formatSpan(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < MINUTE) return `${whole} s`;
  if (whole < HOUR - MINUTE / 2) return `${Math.round(whole / MINUTE)} m`;
  return whole < 2 * DAY - HOUR / 2 ? `${Math.round(whole / HOUR)} h` : `${Math.round(whole / DAY)} d`;
}

/** How long ago, or how soon, seen from `now` (milliseconds): "3 m ago", "in 2 h 5 m". */
export function formatRelative(at: string, now: number): string {
  const seconds = (now - Date.parse(at)) / 1000;
  if (Number.isNaN(seconds)) return "at an unknown time";
  if (Math.abs(seconds) < 2) return "just now";
  return seconds > 0 ? `${coarse(seconds)} ago` : `in ${coarse(-seconds)}`;
}

function coarse(seconds: number): string {
  if (seconds < HOUR && seconds >= MINUTE) return `${Math.floor(seconds / MINUTE)} m`;
  return formatDuration(seconds);
}

/** The instant in full, in the shown zone with its name, and in UTC where that is another one. */
export function formatAbsolute(at: string): string {
  const instant = new Date(at);
  if (Number.isNaN(instant.getTime())) return at;
  const local = inZone(instant, { dateStyle: "medium", timeStyle: "long" });
  // Where the shown zone is UTC, it is not said twice.
  if (isUtc(instant)) return local;
  return `${local} (${instant.toISOString().replace("T", " ").replace(/\.\d+Z$/, " UTC")})`;
}

/** The time of day with seconds, in the shown zone. */
export function formatClock(at: string): string {
  return inZone(new Date(at), { timeStyle: "medium" });
}

/** Whether two instants are on one day of the shown zone. */
export function isSameDay(one: Date, other: Date): boolean {
  return inZone(one, { dateStyle: "short" }) === inZone(other, { dateStyle: "short" });
}

/** The time of day, with the day unless it is today's: "14:20", "Fri 27 Nov, 14:20". */
export function formatShortTime(at: string, now = new Date()): string {
  const instant = new Date(at);
  const time = inZone(instant, { hour: "2-digit", minute: "2-digit" });
  if (isSameDay(instant, now)) return time;
  return `${inZone(instant, { weekday: "short", day: "numeric", month: "short" })}, ${time}`;
}

const INSTANT = /\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?Z/g;

/** A sentence of the server's with its instants as people read them: day and time of day, in the shown zone. */
export function withLocalTimes(sentence: string): string {
  return sentence.replace(INSTANT, (at) => `${inZone(new Date(at), { day: "numeric", month: "short" })}, ${formatClock(at)}`);
}

/** Seconds between two instants. */
export function secondsBetween(from: string, to: string): number {
  return (Date.parse(to) - Date.parse(from)) / 1000;
}
