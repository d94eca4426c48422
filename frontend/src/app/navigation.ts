// The pages in the order of the sidebar, with the key that follows "g", and the roles that they are folded for.
import { Boxes, FlaskConical, GitCompareArrows, Inbox, LifeBuoy, LayoutDashboard, type LucideIcon, Plug, RefreshCw, ScrollText, Send, SlidersHorizontal, SlidersVertical, Swords, UserRound, Waypoints } from "lucide-react";

import type { Identity } from "@/lib/api/types";

export type PageGroup = "Work" | "Change" | "Record";

export interface Destination {
  key: string;
  words: string;
  path: string;
  icon: LucideIcon;
  group: PageGroup;
  /** The users it is folded for: those with the role submitter, or all others. */
  folded?: "submitters" | "others";
  /** Other addresses that belong to it. */
  below?: readonly string[];
}

export const ATTENTION = "/needs-attention";

export const DESTINATIONS: Destination[] = [
  { key: "m", words: "My work", path: "/workloads?filter=owner:me", icon: UserRound, group: "Work", folded: "others" },
  { key: "o", words: "Overview", path: "/", icon: LayoutDashboard, group: "Work" },
  { key: "a", words: "Needs attention", path: ATTENTION, icon: LifeBuoy, group: "Work", folded: "submitters" },
  { key: "w", words: "Workloads", path: "/workloads", icon: Boxes, group: "Work" },
  { key: "q", words: "Queues", path: "/queues", icon: Inbox, group: "Work" },
  { key: "t", words: "Topology", path: "/topology", icon: Waypoints, group: "Work" },
  { key: "p", words: "Preemptions", path: "/preemptions", icon: Swords, group: "Work", folded: "submitters" },
  { key: "n", words: "Submit", path: "/submit", icon: Send, group: "Change" },
  { key: "s", words: "Simulations", path: "/simulations", icon: FlaskConical, group: "Change", folded: "submitters", below: ["/what-if", "/backtests"] },
  { key: "l", words: "Policy lab", path: "/simulations/lab", icon: SlidersVertical, group: "Change", folded: "submitters" },
  { key: "c", words: "Configuration", path: "/configuration", icon: SlidersHorizontal, group: "Change", folded: "submitters" },
  { key: "h", words: "Change history", path: "/history", icon: GitCompareArrows, group: "Change", folded: "submitters" },
  { key: "e", words: "Event log", path: "/events", icon: ScrollText, group: "Record", folded: "submitters" },
  { key: "y", words: "Scheduling cycles", path: "/cycles", icon: RefreshCw, group: "Record", folded: "submitters" },
  { key: "x", words: "Executors", path: "/executors", icon: Plug, group: "Record", folded: "submitters" },
];

const SUBMITTERS: readonly string[] = ["submitter"];

/** Whether a page stands under "More" for a user; nothing is folded before the role is known. */
export function isFolded(page: Destination, identity: Identity | undefined): boolean {
  if (identity === undefined) return false;
  return page.folded === (SUBMITTERS.includes(identity.role) ? "submitters" : "others");
}

/** The pages at hand on a narrow screen: where the user's work begins, all workloads, and what needs attention. */
export function firstPages(identity: Identity | undefined): Destination[] {
  const start = identity !== undefined && SUBMITTERS.includes(identity.role) ? "m" : "o";
  return [start, "w", "a"].map((key) => DESTINATIONS.find((page) => page.key === key)).filter((page) => page !== undefined);
}

/** Whether the address is the page's; of two that fit, the one that says more. */
export function isHere(page: Destination, path: string, search: string): boolean {
  const [place = "", query = ""] = page.path.split("?");
  if (!isAt(path, [place, ...(page.below ?? [])])) return false;
  if (DESTINATIONS.some((other) => other.path.startsWith(`${place}/`) && isAt(path, [other.path]))) return false;
  const asks = (given: string) => [...new URLSearchParams(given)].every(([name, value]) => new URLSearchParams(search).get(name) === value);
  if (query !== "") return asks(query);
  return !DESTINATIONS.some((other) => other.path.startsWith(`${page.path}?`) && asks(other.path.split("?")[1] ?? ""));
}

function isAt(path: string, places: readonly string[]): boolean {
  return places.some((place) => path === place || (place !== "/" && path.startsWith(`${place}/`)));
}
