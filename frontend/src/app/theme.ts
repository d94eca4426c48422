// Dark, light, or as the system has it; kept in the browser.
export const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

const KEY = "headgate.theme";

/** The theme chosen in this browser. */
export function chosenTheme(): Theme {
  const stored = localStorage.getItem(KEY);
  return THEMES.find((theme) => theme === stored) ?? "system";
}

/** Shows the page in a theme, remembers it, and returns it. */
export function applyTheme(theme: Theme): Theme {
  localStorage.setItem(KEY, theme);
  if (theme === "system") delete document.documentElement.dataset["theme"];
  else document.documentElement.dataset["theme"] = theme;
  return theme;
}
