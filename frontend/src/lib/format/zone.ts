// The time zone that instants are shown in: that of the browser, or UTC; kept in the browser.
export const ZONES = ["local", "utc"] as const;
export type Zone = (typeof ZONES)[number];

const KEY = "headgate.zone";
const MINUTE = 60_000;

/** The zone chosen in this browser. */
export function chosenZone(): Zone {
  return typeof localStorage !== "undefined" && localStorage.getItem(KEY) === "utc" ? "utc" : "local";
}

/** Remembers the zone; what is on the page already keeps the one before. */
export function chooseZone(zone: Zone): void {
  localStorage.setItem(KEY, zone);
}

/** The name of a zone: "UTC", "Europe/Berlin". */
export function zoneName(zone = chosenZone()): string {
  return zone === "utc" ? "UTC" : Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/** An instant in the shown zone, as its options say. */
export function inZone(instant: Date, options: Intl.DateTimeFormatOptions): string {
  return instant.toLocaleString("en-GB", chosenZone() === "utc" ? { ...options, timeZone: "UTC" } : options);
}

/** The text of an instant that a field of date and time takes, which has no zone. */
export function zoneText(at: number): string {
  return new Date(at - offsetOf(new Date(at))).toISOString().slice(0, 19);
}

/** The instant that such a text names, in milliseconds. */
export function zoneInstant(text: string): number {
  return chosenZone() === "utc" ? Date.parse(`${text}Z`) : Date.parse(text);
}

/** Whether the shown zone is UTC at an instant. */
export function isUtc(instant: Date): boolean {
  return offsetOf(instant) === 0;
}

function offsetOf(instant: Date): number {
  return chosenZone() === "utc" ? 0 : instant.getTimezoneOffset() * MINUTE;
}
