// The pages in the order of the sidebar, with the key that follows "g", and the roles that they are folded for.
import { Boxes, FlaskConical, Inbox, LifeBuoy, LayoutDashboard, type LucideIcon, Plug, RefreshCw, ScrollText, Send, SlidersHorizontal, SlidersVertical, Swords, UserRound, Waypoints } from "lucide-react";

import type { Identity } from "@/lib/api/types";

export type PageGroup = "Work" | "Change" | "Record";

export interface Destination {
  key: string;
  words: string;
  path: string;
  icon: LucideIcon;
  group: PageGroup;
  /** The users it is folded for, by what they come for. */
  folded?: readonly Persona[];
}

/** What a user comes for: the own work, the installation, or what is broken. */
export type Persona = "submitter" | "admin" | "on-call";

export const ATTENTION = "/attention";
const SUBMITTERS: readonly Persona[] = ["submitter"];
const FIRST_PAGES = 3;
const ALL_BUT_ADMINS: readonly Persona[] = ["submitter", "on-call"];

export const DESTINATIONS: Destination[] = [
  { key: "m", words: "My work", path: "/workloads?filter=owner:me", icon: UserRound, group: "Work", folded: ["admin", "on-call"] },
  { key: "o", words: "Overview", path: "/", icon: LayoutDashboard, group: "Work" },
  { key: "a", words: "Needs attention", path: ATTENTION, icon: LifeBuoy, group: "Work", folded: SUBMITTERS },
  { key: "w", words: "Workloads", path: "/workloads", icon: Boxes, group: "Work" },
  { key: "q", words: "Queues", path: "/queues", icon: Inbox, group: "Work" },
  { key: "t", words: "Topology", path: "/topology", icon: Waypoints, group: "Work" },
  { key: "p", words: "Preemptions", path: "/preemptions", icon: Swords, group: "Work", folded: SUBMITTERS },
  { key: "n", words: "Submit", path: "/submit", icon: Send, group: "Change", folded: ["on-call"] },
  { key: "s", words: "Simulations", path: "/simulations", icon: FlaskConical, group: "Change", folded: ALL_BUT_ADMINS },
  { key: "l", words: "Policy lab", path: "/simulations/lab", icon: SlidersVertical, group: "Change", folded: ALL_BUT_ADMINS },
  { key: "c", words: "Configuration", path: "/configuration", icon: SlidersHorizontal, group: "Change", folded: ALL_BUT_ADMINS },
  { key: "e", words: "Event log", path: "/events", icon: ScrollText, group: "Record", folded: SUBMITTERS },
  { key: "y", words: "Scheduling cycles", path: "/cycles", icon: RefreshCw, group: "Record", folded: SUBMITTERS },
  { key: "x", words: "Executors", path: "/executors", icon: Plug, group: "Record", folded: SUBMITTERS },
];

/** By role: submitters have work of their own, viewers watch, all others administer. */
export function personaOf({ role }: Pick<Identity, "role">): Persona {
  if (role === "submitter") return "submitter";
  return role === "viewer" ? "on-call" : "admin";
}

/** Whether a page stands under "More" for a user; nothing is folded before the role is known. */
export function isFolded(page: Destination, identity: Identity | undefined): boolean {
  return identity !== undefined && (page.folded ?? []).includes(personaOf(identity));
}

/** The pages at hand on a narrow screen: the start page, all workloads, and what needs attention. */
export function firstPages(startPath: string): Destination[] {
  const start = DESTINATIONS.find(({ path }) => path === startPath);
  const usual = ["w", "a", "o"].map((key) => DESTINATIONS.find((page) => page.key === key));
  return [...new Set([start, ...usual])].filter((page) => page !== undefined).slice(0, FIRST_PAGES);
}

/** Whether the address is the page's; of two that fit, the one that says more. */
export function isHere(page: Destination, path: string, search: string): boolean {
  const [place = "", query = ""] = page.path.split("?");
  if (!isAt(path, [place])) return false;
  if (DESTINATIONS.some((other) => other.path.startsWith(`${place}/`) && isAt(path, [other.path]))) return false;
  const asks = (given: string) => [...new URLSearchParams(given)].every(([name, value]) => new URLSearchParams(search).get(name) === value);
  if (query !== "") return asks(query);
  return !DESTINATIONS.some((other) => other.path.startsWith(`${page.path}?`) && asks(other.path.split("?")[1] ?? ""));
}

function isAt(path: string, places: readonly string[]): boolean {
  return places.some((place) => path === place || (place !== "/" && path.startsWith(`${place}/`)));
}
