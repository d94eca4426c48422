// Changes whenever the colors of the interface do: by the system's choice or the user's.
import { useSyncExternalStore } from "react";

const DARK = "(prefers-color-scheme: dark)";

function subscribe(listener: () => void): () => void {
  const system = window.matchMedia(DARK);
  const chosen = new MutationObserver(listener);
  system.addEventListener("change", listener);
  chosen.observe(document.documentElement, { attributes: true, attributeFilter: ["data-theme"] });
  return () => {
    system.removeEventListener("change", listener);
    chosen.disconnect();
  };
}

/** The choice of colors in force, for what is drawn and does not follow the style sheet. */
export function useScheme(): string {
  return useSyncExternalStore(subscribe, () => document.documentElement.dataset["theme"] ?? String(window.matchMedia(DARK).matches));
}
