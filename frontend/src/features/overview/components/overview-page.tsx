// The first page: figures, use and demand over time, causes of alerts, and queues.
import { useQuery } from "@tanstack/react-query";

import { SelectField } from "@/components/ui/fields";
import { Page } from "@/components/ui/layout";
import { Empty, ExamplesLink, Failed } from "@/components/ui/states";
import { causesQuery } from "@/lib/api/attention";
import { capacityQuery, queueRowsQuery } from "@/lib/api/capacity";
import { byResource, shortResource } from "@/lib/format/amounts";
import { useLogBeginning } from "@/lib/hooks/use-log-beginning";
import { useResource } from "@/lib/hooks/use-resource";
import { useTimeRange } from "@/lib/hooks/use-time-range";

import { rangeMarksQuery } from "../api/capacity";
import { CapacityCharts } from "./capacity-charts";
import { CauseSummary } from "./cause-summary";
import { Figures } from "./figures";
import { QueueRows } from "./queue-rows";
import styles from "./overview-page.module.css";

const MIN_POINTS = 3;

export function OverviewPage() {
  const [range, choose] = useTimeRange();
  const [resource, take] = useResource();
  const [since, tellOfLog] = useLogBeginning(range);
  const capacity = useQuery(capacityQuery(resource, range, since));
  tellOfLog(capacity.data);
  // The points of the whole range are too far apart for the shorter axis of a young log.
  const isThin = since !== undefined && capacity.isPlaceholderData && capacity.data.points.length < MIN_POINTS;
  const rows = useQuery(queueRowsQuery(resource));
  const causes = useQuery(causesQuery);
  const marks = useQuery(rangeMarksQuery(range));
  const shown = capacity.data?.resource ?? rows.data?.resource ?? resource;
  const resources = [...(capacity.data?.resources ?? rows.data?.resources ?? [])].sort(byResource);
  const isNew = capacity.data !== undefined && resources.length === 0;
  return (
    <Page
      title="Overview"
      actions={
        <SelectField
          label="Resource"
          value={shown}
          options={(resources.length > 0 ? resources : [shown]).map((value) => ({ value, words: shortResource(value) }))}
          onChange={(event) => take(event.target.value)}
        />
      }
    >
      <Figures capacity={capacity.data} rows={rows.data} causes={causes.data} resource={shown} />
      {isNew ? (
        <FirstSteps />
      ) : capacity.isError && capacity.data === undefined ? (
        <Failed error={capacity.error} onRetry={() => void capacity.refetch()} />
      ) : (
        <CapacityCharts history={isThin ? undefined : capacity.data} marks={marks.data} range={range} since={since} onBrush={choose} />
      )}
      <div className={styles.columns}>
        <CauseSummary query={causes} />
        <QueueRows query={rows} resource={shown} />
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
            Apply flavors, queues and hosts: <code>headgate apply -f cluster.yaml</code>, as in the <ExamplesLink />
          </li>
          <li>
            Start an executor: <code>headgate agent --executor NAME</code>
          </li>
          <li>
            Submit a workload: <code>headgate submit -q QUEUE --gpu 1 -- COMMAND</code>
          </li>
        </ol>
      </Empty>
    </div>
  );
}
