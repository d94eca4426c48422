// The key of the action menu: that of the row in focus, else that of the page.
const TRIGGER = "[aria-haspopup=menu]";
const ROWS = "[role=row], tr, li";

/** Opens the menu of actions that is meant: of the focused or selected row, of the panel beside it, or of the page. */
export function openActionMenu(): void {
  const focused = document.activeElement?.closest(ROWS);
  const row = document.querySelector("main [data-active]");
  const found = [focused, row, document.querySelector("aside[data-beside]"), document.querySelector("main")].map((place) => triggerIn(place)).find((trigger) => trigger !== undefined);
  if (found === undefined) return;
  found.focus();
  // As a person opens it by keyboard, so that its first item has the focus.
  found.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true }));
}

/** The first menu of a place; those of rows belong to the rows alone. */
function triggerIn(place: Element | null | undefined): HTMLElement | undefined {
  const found = [...(place?.querySelectorAll<HTMLElement>(TRIGGER) ?? [])];
  return found.find((trigger) => trigger.closest(ROWS) === null || trigger.closest(ROWS) === place);
}
