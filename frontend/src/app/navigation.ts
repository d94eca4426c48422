// The pages in the order of the sidebar, with the key that follows "g".
import { Boxes, FlaskConical, GitCompareArrows, Inbox, LifeBuoy, LayoutDashboard, type LucideIcon, RefreshCw, Rewind, ScrollText, SlidersHorizontal, Swords, Waypoints } from "lucide-react";

export interface Destination {
  key: string;
  words: string;
  path: string;
  icon: LucideIcon;
}

export const DESTINATIONS: Destination[] = [
  { key: "o", words: "Overview", path: "/", icon: LayoutDashboard },
  { key: "q", words: "Queues", path: "/queues", icon: Inbox },
  { key: "w", words: "Workloads", path: "/workloads", icon: Boxes },
  { key: "i", words: "Needs attention", path: "/needs-attention", icon: LifeBuoy },
  { key: "t", words: "Topology", path: "/topology", icon: Waypoints },
  { key: "p", words: "Preemptions", path: "/preemptions", icon: Swords },
  { key: "f", words: "Simulator", path: "/what-if", icon: FlaskConical },
  { key: "b", words: "Backtests", path: "/backtests", icon: Rewind },
  { key: "c", words: "Scheduling cycles", path: "/cycles", icon: RefreshCw },
  { key: "s", words: "Configuration", path: "/configuration", icon: SlidersHorizontal },
  { key: "h", words: "Change history", path: "/history", icon: GitCompareArrows },
  { key: "e", words: "Event log", path: "/events", icon: ScrollText },
];
