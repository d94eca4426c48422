// The first page: alerts, workloads by phase, and recent events.
import { useQuery } from "@tanstack/react-query";
import { CircleAlert, Info, OctagonAlert } from "lucide-react";

import { Badge, type Tone } from "@/components/ui/badge";
import { Bars } from "@/components/ui/bars";
import { EventLine } from "@/components/ui/event-line";
import { RouterLink } from "@/components/ui/router-link";
import { Card, Page } from "@/components/ui/layout";
import { PHASES, PhaseBadge } from "@/components/ui/phase-badge";
import { Empty } from "@/components/ui/states";
import { View } from "@/components/ui/view";
import type { Attention, Overview } from "@/lib/api/types";

import { overviewQuery } from "../api/overview";
import { bySeverity, summaryOf, tilesOf } from "../model/summary";
import styles from "./overview-page.module.css";

export function OverviewPage() {
  const overview = useQuery(overviewQuery);
  return (
    <Page title="Overview" lead={overview.data && summaryOf(overview.data)}>
      <View query={overview} rows={10}>
        {(found) => <Body overview={found} />}
      </View>
    </Page>
  );
}

function Body({ overview }: { overview: Overview }) {
  const admitted = overview.admittedPerMinute.reduce((sum, minute) => sum + minute.count, 0);
  return (
    <>
      <ul className={styles.tiles} aria-label="Workloads by phase">
        {tilesOf(overview.counts, PHASES).map(({ phase, count }) => (
          <li key={phase}>
            <RouterLink className={styles.tile} to={`/workloads?phase=${phase}`}>
              <span className={styles.count}>{count.toLocaleString("en")}</span>
              <PhaseBadge phase={phase} />
            </RouterLink>
          </li>
        ))}
      </ul>
      <div className={styles.columns}>
        <div className={styles.stack}>
          <Card title="Needs attention" aside={overview.attention.length > 0 ? overview.attention.length : undefined}>
            <AttentionList attention={overview.attention} />
          </Card>
          <Card title="Admitted per minute" aside={<span className="number">{admitted} in the last hour</span>} padded>
            <Bars label="Admissions per minute over the last hour" unit="admitted" bars={overview.admittedPerMinute} />
          </Card>
        </div>
        <Card title="What happened last" aside={<RouterLink to="/events">All events</RouterLink>}>
          {overview.recent.length === 0 ? (
            <Empty title="Nothing has happened yet">
              <p>
                Describe your cluster with <code>headgate apply -f cluster.yaml</code>; whatever happens then appears here.
              </p>
            </Empty>
          ) : (
            <ul>
              {overview.recent.map((fact) => (
                <EventLine key={fact.position} fact={fact} />
              ))}
            </ul>
          )}
        </Card>
      </div>
    </>
  );
}

const SEVERITIES: Record<string, { tone: Tone; icon: typeof Info; words: string }> = {
  critical: { tone: "bad", icon: OctagonAlert, words: "Critical" },
  warning: { tone: "wait", icon: CircleAlert, words: "Warning" },
  info: { tone: "move", icon: Info, words: "Note" },
};
const NOTE = { tone: "move" as Tone, icon: Info, words: "Note" };

function AttentionList({ attention }: { attention: Attention[] }) {
  if (attention.length === 0) return <Empty title="All is well">Nothing is stuck, stopped or failing.</Empty>;
  return (
    <ul>
      {bySeverity(attention).map((item, index) => {
        const look = SEVERITIES[item.severity] ?? NOTE;
        return (
          <li key={index} className={styles.attention}>
            <Badge tone={look.tone} icon={look.icon}>
              {look.words}
            </Badge>
            <div className={styles.what}>
              {item.link.startsWith("/") ? <RouterLink to={item.link}>{item.title}</RouterLink> : <strong>{item.title}</strong>}
              <p>{item.detail}</p>
              <Evidence item={item} />
            </div>
          </li>
        );
      })}
    </ul>
  );
}

/** The events that show it, where the user may read them. */
function Evidence({ item: { stream, position } }: { item: Attention }) {
  if (!stream || !position) return null;
  return (
    <RouterLink className={styles.evidence} to={`/events?stream=${encodeURIComponent(stream)}`}>
      Seen in the log at position {position.toLocaleString("en")}
    </RouterLink>
  );
}
