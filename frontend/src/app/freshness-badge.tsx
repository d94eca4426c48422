// How fresh everything on screen is: whether the stream is connected, else the age; the position is in the hint.
import { useQuery } from "@tanstack/react-query";
import { CircleDashed, CloudOff, History, Radio, RefreshCw } from "lucide-react";

import { Badge, type Tone } from "@/components/ui/badge";
import { Hint } from "@/components/ui/hint";
import { formatClock, formatDuration } from "@/lib/format/times";
import { useFreshness } from "@/lib/hooks/use-live";
import { useMoment } from "@/lib/hooks/use-moment";
import { useNow } from "@/lib/hooks/use-now";
import type { Link } from "@/lib/live/connection";

import styles from "./freshness-badge.module.css";
import { momentQuery } from "./past-marks";

const LOOKS: Record<Link, { tone: Tone; icon: typeof Radio; words: string; remark: string }> = {
  connecting: { tone: "idle", icon: CircleDashed, words: "Connecting", remark: "Connecting to the event stream…" },
  connected: { tone: "good", icon: Radio, words: "Live", remark: "Live updates on." },
  reconnecting: { tone: "wait", icon: RefreshCw, words: "Reconnecting", remark: "Connection lost. Reconnecting; no events will be missed." },
  stale: { tone: "bad", icon: CloudOff, words: "Stale", remark: "No data from the server. Retrying…" },
};

export function FreshnessBadge() {
  const { link, position, heardAt } = useFreshness();
  const now = useNow();
  const look = LOOKS[link];
  const age = formatDuration((now - heardAt) / 1000);
  const moment = useMoment();
  const past = useQuery(momentQuery(moment));
  // Nothing says live while the past is on screen.
  if (moment !== "") {
    return (
      <span className={styles.badge} data-link={link} data-testid="freshness">
        <span role="status">
          <Badge tone="hold" icon={History}>
            Past {past.data?.at ? formatClock(past.data.at) : ""}
          </Badge>
        </span>
      </span>
    );
  }
  return (
    <Hint text={`${look.remark} Last update ${age} ago, event #${position.toLocaleString("en")}.`}>
      <span className={styles.badge} tabIndex={0} data-link={link} data-testid="freshness">
        <span role="status">
          <Badge tone={look.tone} icon={look.icon}>
            {look.words}
          </Badge>
        </span>
        {link !== "connected" && <span className={styles.age}>{age}</span>}
      </span>
    </Hint>
  );
}
