// The first page: figures, use and demand over time, causes of alerts, and queues.
import { useQuery } from "@tanstack/react-query";
import { X } from "lucide-react";

import { Button } from "@/components/ui/button";
import { SelectField } from "@/components/ui/fields";
import { Page } from "@/components/ui/layout";
import { RouterLink } from "@/components/ui/router-link";
import { Empty, ExamplesLink, Failed } from "@/components/ui/states";
import { causesQuery } from "@/lib/api/attention";
import { capacityQuery, marksQuery, queueRowsQuery } from "@/lib/api/capacity";
import type { UsageGrouping } from "@/lib/api/types";
import { byResource, shortResource } from "@/lib/format/amounts";
import { useLogBeginning } from "@/lib/hooks/use-log-beginning";
import { useResource } from "@/lib/hooks/use-resource";
import { useTimeRange } from "@/lib/hooks/use-time-range";
import { useUrl } from "@/lib/hooks/use-url";

import { ofQueue } from "../model/capacity";
import { CapacityCharts } from "./capacity-charts";
import { CauseSummary } from "./cause-summary";
import { Figures } from "./figures";
import { QueueRows } from "./queue-rows";
import styles from "./overview-page.module.css";

const MIN_POINTS = 3;
const GROUPINGS: readonly { value: UsageGrouping; words: string }[] = [
  { value: "clusterQueue", words: "ClusterQueue" },
  { value: "cohort", words: "Cohort" },
  { value: "flavor", words: "Flavor" },
];

export function OverviewPage() {
  const [range, choose] = useTimeRange();
  const [resource, take] = useResource();
  const url = useUrl();
  const queue = url.get("queue");
  const by = GROUPINGS.find(({ value }) => value === url.get("by"))?.value ?? "clusterQueue";
  const [since, tellOfLog] = useLogBeginning(range);
  const capacity = useQuery(capacityQuery(resource, range, since, by));
  tellOfLog(capacity.data);
  // The points of the whole range are too far apart for the shorter axis of a young log.
  const isThin = since !== undefined && capacity.isPlaceholderData && capacity.data.points.length < MIN_POINTS;
  const rows = useQuery(queueRowsQuery(resource));
  const causes = useQuery(causesQuery);
  const marks = useQuery(marksQuery(range, queue));
  const shown = capacity.data?.resource ?? rows.data?.resource ?? resource;
  const resources = [...(capacity.data?.resources ?? rows.data?.resources ?? [])].sort(byResource);
  const isNew = capacity.data !== undefined && resources.length === 0;
  const told = capacity.data && queue !== "" ? ofQueue(capacity.data, queue) : capacity.data;
  const filter = (name: string) => url.change({ queue: name === queue ? "" : name });
  return (
    <Page
      title="Overview"
      actions={
        !isNew && (
          <>
            {queue !== "" && (
              <Button aria-label={`Remove filter ClusterQueue ${queue}`} onClick={() => filter("")}>
                ClusterQueue {queue} <X aria-hidden="true" />
              </Button>
            )}
            <SelectField
              label="Resource"
              value={shown}
              options={(resources.length > 0 ? resources : [shown]).map((value) => ({ value, words: shortResource(value) }))}
              onChange={(event) => take(event.target.value)}
            />
            {queue === "" && <SelectField label="By" value={by} options={GROUPINGS} onChange={(event) => url.change({ by: event.target.value === "clusterQueue" ? "" : event.target.value }, "replace")} />}
          </>
        )
      }
    >
      <Figures capacity={told} rows={rows.data} causes={causes.data} resource={shown} queue={queue} />
      {isNew ? (
        <FirstSteps />
      ) : capacity.isError && capacity.data === undefined ? (
        <Failed error={capacity.error} onRetry={() => void capacity.refetch()} />
      ) : (
        <CapacityCharts history={isThin ? undefined : told} queue={queue} marks={marks.data} range={range} since={since} onBrush={choose} onQueue={filter} />
      )}
      <div className={styles.columns}>
        <CauseSummary query={causes} />
        <QueueRows query={rows} resource={shown} queue={queue} />
      </div>
    </Page>
  );
}

function FirstSteps() {
  return (
    <div className={styles.first}>
      <Empty title="No quota yet">
        <ol className={styles.steps}>
          <li>
            Apply flavors, queues and hosts: <code>headgate apply -f cluster.yaml</code>, as in the <ExamplesLink />, or <RouterLink to="/configuration/ClusterQueue?new=yaml">paste manifests</RouterLink>
          </li>
          <li>
            Start an executor on each host: <code>headgate agent --name rack-a</code>; it appears in <RouterLink to="/executors">Executors</RouterLink>
          </li>
          <li>
            Submit a workload: <code>headgate submit -q QUEUE --gpu 1 -- COMMAND</code>, or <RouterLink to="/submit">fill in the form</RouterLink>
          </li>
        </ol>
      </Empty>
    </div>
  );
}
