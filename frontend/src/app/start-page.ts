// The page that Headgate opens with: as chosen in this browser, else by what the user comes for.
import type { Identity } from "@/lib/api/types";

import { ATTENTION, type Persona, personaOf } from "./navigation";

export const START_PAGES = [
  { key: "overview", words: "Overview", path: "/" },
  { key: "mine", words: "My work", path: "/workloads?filter=owner:me" },
  { key: "attention", words: "Needs attention", path: ATTENTION },
] as const;
export type StartPage = (typeof START_PAGES)[number]["key"];

const KEY = "headgate.start";
const USUAL: Record<Persona, StartPage> = { submitter: "mine", admin: "overview", "on-call": "attention" };

/** The start page of a user in this browser; undefined without a choice before the role is known. */
export function startPage(identity: Identity | undefined): StartPage | undefined {
  return startOf(localStorage.getItem(KEY), identity);
}

/** Remembers the start page. */
export function chooseStart(start: StartPage): void {
  localStorage.setItem(KEY, start);
}

/** The start page that a stored text names, else that of the role. */
export function startOf(stored: string | null, identity: Pick<Identity, "role"> | undefined): StartPage | undefined {
  return START_PAGES.find(({ key }) => key === stored)?.key ?? (identity && USUAL[personaOf(identity)]);
}

/** The address of a start page. */
export function startPath(start: StartPage | undefined): string {
  return START_PAGES.find(({ key }) => key === start)?.path ?? "/";
}
