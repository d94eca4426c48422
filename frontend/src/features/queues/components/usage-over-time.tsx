// What the queue used of one resource over the time range, its quota, what was pending, and what became of workloads.
import { useQuery } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";

import { Button } from "@/components/ui/button";
import { SelectField } from "@/components/ui/fields";
import { Empty, PartialNote, Skeleton } from "@/components/ui/states";
import { TimeChart } from "@/components/ui/time-chart";
import { View } from "@/components/ui/view";
import { marksQuery } from "@/lib/api/capacity";
import type { QueueNode, UsagePoint } from "@/lib/api/types";
import { configurationAddress } from "@/lib/events";
import { formatAmount, shortResource } from "@/lib/format/amounts";
import { useLogBeginning } from "@/lib/hooks/use-log-beginning";
import { useResource } from "@/lib/hooks/use-resource";
import { useIdentity } from "@/lib/hooks/use-session";
import { useTimeRange } from "@/lib/hooks/use-time-range";
import type { ChartMark } from "@/lib/marks";
import { refusalFor } from "@/lib/permissions";
import { boundsOf, rangeBetween, rangeWords, type TimeRange } from "@/lib/time-range";

import { usageQuery } from "../api/queues";
import { courseOf, happenedOverTime, resourcesIn } from "../model/usage";
import styles from "./queue-page.module.css";

function useUsage(name: string) {
  const [range, choose] = useTimeRange();
  const [since, tellOfLog] = useLogBeginning(range);
  const usage = useQuery(usageQuery(name, range, since));
  tellOfLog(usage.data);
  // The points of the whole range are too far apart for the shorter axis.
  const isThin = since !== undefined && usage.isPlaceholderData;
  return { range, choose, since, usage, isThin };
}

/** Use below the quota, and what was pending; a queue without quota can only be given some. */
export function UseOverTime({ node: { name, lines } }: { node: QueueNode }) {
  const { range, choose, since, usage, isThin } = useUsage(name);
  const marks = useQuery(marksQuery(range, name)).data;
  return (
    <section className={styles.use} aria-label="Use over time">
      {lines.length === 0 ? (
        <NoQuota name={name} />
      ) : isThin ? (
        <Skeleton rows={6} />
      ) : (
        <View query={usage} rows={6}>
          {({ points, complete, dataSince }) => (
            <>
              {!complete && <PartialNote>The most recent data points are not loaded yet.</PartialNote>}
              <Use {...{ points, range, since, marks, complete }} dataSince={dataSince ?? undefined} onBrush={choose} />
            </>
          )}
        </View>
      )}
    </section>
  );
}

function NoQuota({ name }: { name: string }) {
  const { history } = useRouter();
  const refusal = refusalFor(useIdentity(), { on: "queue", clusterQueue: name });
  const address = configurationAddress("ClusterQueue", name, "form");
  return (
    <Empty title="This ClusterQueue has no quota">
      <p>Nothing is admitted until it has some.</p>
      <Button look="primary" refusal={refusal} onClick={() => history.push(address)}>
        Set quota
      </Button>
    </Empty>
  );
}

/** How many workloads were submitted, admitted, evicted and finished. */
export function OutcomesOverTime({ name }: { name: string }) {
  const { range, choose, since, usage, isThin } = useUsage(name);
  if (isThin) return <Skeleton rows={8} />;
  return (
    <View query={usage} rows={8}>
      {({ points, dataSince }) => (
        <div className={styles.outcomes}>
          {happenedOverTime(points).map(({ key, label, counts }) => (
            <TimeChart
              key={key}
              {...axisOf({ points, range, since, dataSince: dataSince ?? undefined, onBrush: choose })}
              times={points.map(({ at }) => Date.parse(at) / 1000)}
              label={label}
              height="short"
              stacked
              series={[{ name: key, values: counts, color: "--idle-solid" }]}
              format={(count) => count.toLocaleString("en")}
            />
          ))}
        </div>
      )}
    </View>
  );
}

interface UseProps {
  points: UsagePoint[];
  range: TimeRange;
  /** Where the axis begins instead of with the range. */
  since: string | undefined;
  dataSince: string | undefined;
  onBrush: (range: TimeRange) => void;
}

/** The time axis of a chart, and what drawing over it does. */
function axisOf({ points, range, since, dataSince, onBrush }: UseProps) {
  const [whole, to] = boundsOf(range, Date.parse(points.at(-1)?.at ?? ""));
  const from = since === undefined ? whole : Date.parse(since);
  return {
    range: [from / 1000, to / 1000] as [number, number],
    dataSince: dataSince === undefined ? undefined : Date.parse(dataSince) / 1000,
    onBrush: (one: number, other: number) => onBrush(rangeBetween(one * 1000, other * 1000)),
  };
}

function Use({ points, range, since, dataSince, onBrush, marks = [], complete }: UseProps & { marks: ChartMark[] | undefined; complete: boolean }) {
  const [chosen, choose] = useResource();
  const resources = resourcesIn(points);
  const resource = resources.includes(chosen) ? chosen : (resources[0] ?? "");
  if (resource === "") return <Empty title={`No quota and no usage: ${rangeWords(range)}`} />;
  const course = courseOf(points, resource);
  const axis = axisOf({ points, range, since, dataSince, onBrush });
  const shared = { ...axis, times: course.times, dataUntil: complete ? undefined : course.times.at(-1) };
  return (
    <div className={styles.charts}>
      <TimeChart
        {...shared}
        label={`In use, ${shortResource(resource)}`}
        stacked
        height="short"
        series={[
          { name: "own quota", values: course.own, color: "--quota-used" },
          { name: "borrowed", values: course.borrowed, color: "--quota-borrowed", hatched: true },
        ]}
        limits={[{ name: "nominal quota", values: course.nominal }, ...(course.limit ? [{ name: "borrowing limit", values: course.limit, dashed: true }] : [])]}
        format={(value) => formatAmount(resource, value)}
        marks={marks}
      >
        <SelectField label="Resource" value={resource} options={resources.map((value) => ({ value, words: shortResource(value) }))} onChange={(event) => choose(event.target.value)} />
      </TimeChart>
      <TimeChart {...shared} label="Pending workloads" height="short" stacked series={[{ name: "pending", values: course.pending, color: "--wait-solid" }]} format={(count) => count.toLocaleString("en")} />
    </div>
  );
}
