// Keyboard commands: single keys and pairs such as "g q", never while a user is typing.
import { useEffect, useEffectEvent } from "react";

export type Hotkeys = Record<string, (event: KeyboardEvent) => void>;

const FIRST_OF_PAIRS = "g";
const PAIR_MILLISECONDS = 1200;
let previous = { key: "", at: 0 };
let latest = previous;

/** Runs the commands of `hotkeys` while the component is on screen. */
export function useHotkeys(hotkeys: Hotkeys): void {
  const onKey = useEffectEvent((event: KeyboardEvent) => {
    if (event.defaultPrevented) return;
    const command = commandFor(event, hotkeys);
    if (command === undefined) return;
    event.preventDefault();
    command(event);
  });
  useEffect(() => {
    const listen = (event: KeyboardEvent) => onKey(event);
    window.addEventListener("keydown", listen);
    return () => window.removeEventListener("keydown", listen);
  }, []);
}

// Heard before every component's listener, so that they all know the key before this one.
if (typeof window !== "undefined") {
  window.addEventListener(
    "keydown",
    ({ key }) => {
      previous = latest;
      latest = { key, at: Date.now() };
    },
    { capture: true },
  );
}

function commandFor(event: KeyboardEvent, hotkeys: Hotkeys): Hotkeys[string] | undefined {
  if (event.ctrlKey || event.metaKey) return hotkeys[`Ctrl+${event.key.toLowerCase()}`];
  // By its place on the keyboard: on some systems Alt changes what a key writes.
  if (event.altKey) return hotkeys[`Alt+${event.code.replace("Key", "").toLowerCase()}`];
  if (isTyping(event.target) || isDialogOpen()) return undefined;
  if (event.key === "Enter" && isControl(event.target)) return undefined;
  // The second key of a pair is none by itself, whatever it does on the page that is shown.
  const isSecond = previous.key === FIRST_OF_PAIRS && Date.now() - previous.at < PAIR_MILLISECONDS;
  return hotkeys[isSecond ? `${FIRST_OF_PAIRS} ${event.key}` : event.key];
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement) return !["checkbox", "radio", "button"].includes(target.type);
  return target.isContentEditable || ["TEXTAREA", "SELECT"].includes(target.tagName);
}

// Enter does nothing on a checkbox by itself, so there it opens the row as elsewhere in a table.
function isControl(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest("a, button, input:not([type=checkbox]), [role=menuitem], [role=tab]") !== null;
}

function isDialogOpen(): boolean {
  return document.querySelector("[role=dialog], [role=menu], [role=listbox][data-floating]") !== null;
}
