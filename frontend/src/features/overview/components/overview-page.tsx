// The first page: alerts, workloads by phase, and recent events.
import { useQuery } from "@tanstack/react-query";

import { AttentionList } from "@/components/ui/attention-list";
import { Bars } from "@/components/ui/bars";
import { EventLine } from "@/components/ui/event-line";
import { RouterLink } from "@/components/ui/router-link";
import { Card, Page } from "@/components/ui/layout";
import { PHASES, PhaseBadge } from "@/components/ui/phase-badge";
import { Empty, ExamplesLink } from "@/components/ui/states";
import { View } from "@/components/ui/view";
import { overviewQuery } from "@/lib/api/overview";
import type { Overview } from "@/lib/api/types";

import { summaryOf, tilesOf } from "../model/summary";
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
          <Card title="Admissions per minute" aside={<span className="number">{admitted} in the last hour</span>} padded>
            <Bars label="Admissions per minute over the last hour" unit="admitted" bars={overview.admittedPerMinute} />
          </Card>
        </div>
        <Card title="Recent events" aside={<RouterLink to="/events">All events</RouterLink>}>
          {overview.recent.length === 0 ? (
            <Empty title="No events yet">
              <p>
                Create the first queue with <code>headgate apply -f queues.yaml</code> and one of the <ExamplesLink />.
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
