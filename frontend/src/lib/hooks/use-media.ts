// Whether the window matches a media query, re-rendering when that changes.
import { useSyncExternalStore } from "react";

/** Windows too narrow for two columns beside the menu. */
export const NARROW = "(max-width: 52rem)";

/** Windows in which the line above a list has no room for all that it could hold. */
export const TIGHT = "(max-width: 64rem)";

/** What the style sheets call narrow. */
export const PHONE = "(max-width: 44rem)";

export function useMedia(query: string): boolean {
  return useSyncExternalStore(
    (listener) => {
      const list = window.matchMedia(query);
      list.addEventListener("change", listener);
      return () => list.removeEventListener("change", listener);
    },
    () => window.matchMedia(query).matches,
  );
}
