// The pages in the order of the sidebar, with the key that follows "g".
import { Boxes, Inbox, LifeBuoy, LayoutDashboard, type LucideIcon, ScrollText, Swords, Waypoints } from "lucide-react";

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
  { key: "i", words: "Inbox", path: "/inbox", icon: LifeBuoy },
  { key: "t", words: "Topology", path: "/topology", icon: Waypoints },
  { key: "p", words: "Preemptions", path: "/preemptions", icon: Swords },
  { key: "e", words: "Events", path: "/events", icon: ScrollText },
];
