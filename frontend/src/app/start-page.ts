// The page that Headgate opens with; kept in the browser.
export const START_PAGES = [
  { key: "overview", words: "Overview", path: "/" },
  { key: "mine", words: "My work", path: "/workloads?filter=owner:me" },
  { key: "attention", words: "Needs attention", path: "/needs-attention" },
] as const;
export type StartPage = (typeof START_PAGES)[number]["key"];

const KEY = "headgate.start";

/** The start page chosen in this browser; the overview without a choice. */
export function chosenStart(): StartPage {
  return startOf(localStorage.getItem(KEY));
}

/** Remembers the start page. */
export function chooseStart(start: StartPage): void {
  localStorage.setItem(KEY, start);
}

/** The start page that a stored text names. */
export function startOf(stored: string | null): StartPage {
  return START_PAGES.find(({ key }) => key === stored)?.key ?? "overview";
}

/** The address of a start page. */
export function startPath(start: StartPage): string {
  return START_PAGES.find(({ key }) => key === start)?.path ?? "/";
}
