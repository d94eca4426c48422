// What pods write to a terminal as text with looks: control sequences become looks or nothing, never markup.
import Anser from "anser";

export interface LogSpan {
  text: string;
  /** One of the sixteen colors by name, such as `red` or `bright-red`. */
  color?: string;
  background?: string;
  /** Any other color as `r, g, b`. */
  rgb?: string;
  decorations: readonly string[];
}

const ESCAPE = "\\u001b";
/** Titles, links and whatever else a terminal is told beside its text. */
const COMMANDS = new RegExp(`${ESCAPE}[\\]PX^_][^\\u0007${ESCAPE}]*(?:\\u0007|${ESCAPE}\\\\)?`, "g");
/** Control sequences that are not colors: moves of the cursor, erasing. */
const MOVES = new RegExp(`${ESCAPE}\\[[0-?]*[ -/]*[@-ln-~]`, "g");
const SHORT = new RegExp(`${ESCAPE}(?!\\[[0-?]*m)[ -/]*.?`, "g");
/** Characters that a terminal obeys, and those that reverse the direction of text. */
// oxlint-disable-next-line no-control-regex -- these characters are what is taken out
const CONTROLS = new RegExp("[\\u0000-\\u0008\\u000b-\\u001a\\u001c-\\u001f\\u007f-\\u009f\\u202a-\\u202e\\u2066-\\u2069]", "g");
const LOOKS = new RegExp(`${ESCAPE}\\[[0-?]*m`, "g");
const NAME = /^ansi-((?:bright-)?(?:black|red|green|yellow|blue|magenta|cyan|white))$/;
const PALETTE = /^ansi-palette-(\d+)$/;
const CUBE_STEPS = [0, 95, 135, 175, 215, 255];

/** A line with nothing that a terminal obeys but looks; of a line written over itself the last state. */
export function displayable(line: string): string {
  const kept = line.replace(/\r+$/, "");
  const last = kept.slice(kept.lastIndexOf("\r") + 1);
  return last.replace(COMMANDS, "").replace(MOVES, "").replace(SHORT, "").replace(CONTROLS, "");
}

/** The text of a displayable line without looks. */
export function plainText(line: string): string {
  return line.replace(LOOKS, "");
}

/** The parts of a displayable line, each with its looks. */
export function spansOf(line: string): LogSpan[] {
  if (!line.includes("\u001b")) return line === "" ? [] : [{ text: line, decorations: [] }];
  return Anser.ansiToJson(line, { json: true, use_classes: true, remove_empty: true }).map((part) => ({
    text: part.content,
    color: NAME.exec(part.fg)?.[1],
    background: NAME.exec(part.bg)?.[1],
    rgb: part.fg === "ansi-truecolor" ? part.fg_truecolor : paletteColor(part.fg),
    decorations: part.decorations,
  }));
}

function paletteColor(name: string): string | undefined {
  const found = PALETTE.exec(name)?.[1];
  const number = Number(found);
  if (found === undefined || number < 16) return undefined;
  if (number >= 232) return Array(3).fill(8 + (number - 232) * 10).join(", ");
  const place = number - 16;
  return [place / 36, place / 6, place].map((step) => CUBE_STEPS[Math.floor(step) % 6]).join(", ");
}
