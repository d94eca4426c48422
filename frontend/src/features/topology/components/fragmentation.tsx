// How the largest gang of each level went over time, below all that was free and that no gang of the level could use.
import { useQuery } from "@tanstack/react-query";

import { PartialNote, Skeleton } from "@/components/ui/states";
import { TimeChart } from "@/components/ui/time-chart";
import { View } from "@/components/ui/view";
import { useLogBeginning } from "@/lib/hooks/use-log-beginning";
import { useTimeRange } from "@/lib/hooks/use-time-range";
import { useUrl } from "@/lib/hooks/use-url";
import { apiBounds, boundsOf, rangeBetween } from "@/lib/time-range";

import { fragmentationQuery } from "../api/topology";
import { podOf, sizeOf } from "../model/fits";
import { type LevelLine, linesOf, measurementWords } from "../model/fragmentation";
import panel from "./fits.module.css";
import styles from "./fragmentation.module.css";

export function Fragmentation({ topology, resource, at }: { topology: string; resource: string; at: string }) {
  const url = useUrl();
  const [range] = useTimeRange();
  const [since, tellOfLog] = useLogBeginning(range);
  const pod = podOf(resource, sizeOf(url.get("size") || "1"));
  const history = useQuery(fragmentationQuery(topology, pod, { ...apiBounds(range, Date.parse(at)), ...(since && { since }) }));
  tellOfLog(history.data);
  // The points of the whole range are too far apart for the shorter axis.
  const isThin = since !== undefined && history.isPlaceholderData && history.data.points.filter(({ at: seen }) => seen >= since).length <= 1;
  return (
    <section className={panel.panel} aria-labelledby="fragmentation">
      <header className={panel.head}>
        <h2 id="fragmentation">Fragmentation over time</h2>
      </header>
      {isThin ? (
        <Skeleton rows={3} />
      ) : (
        <View query={history} rows={3}>
          {(found) => (
            <>
              {!found.complete && <PartialNote>Too much data for this range. Choose a shorter range.</PartialNote>}
              <Lines lines={linesOf(found.points)} at={at} since={since} />
            </>
          )}
        </View>
      )}
    </section>
  );
}

interface LinesProps {
  lines: LevelLine[];
  at: string;
  /** Where the axis begins instead of with the range. */
  since: string | undefined;
}

function Lines({ lines, at, since }: LinesProps) {
  if (lines.length === 0) return <p className={panel.soft}>No hosts in this time range.</p>;
  const flavors = new Set(lines.map((line) => line.flavor)).size;
  return (
    <div className={styles.lines}>
      {lines.map((line) => (
        <Line key={`${line.flavor} ${line.level}`} line={line} at={at} since={since} named={flavors > 1} />
      ))}
    </div>
  );
}

function Line({ line, at, since, named }: Omit<LinesProps, "lines"> & { line: LevelLine; named: boolean }) {
  const [range, choose] = useTimeRange();
  const [whole, to] = boundsOf(range, Date.parse(at));
  const from = since === undefined ? whole : Date.parse(since);
  const level = line.level.split("/").at(-1) ?? line.level;
  const last = line.measurements.at(-1);
  return (
    <TimeChart
      label={`${level}${named ? ` of ${line.flavor}` : ""}: largest gang`}
      height="short"
      stacked
      times={line.measurements.map((one) => Date.parse(one.at) / 1000)}
      range={[from / 1000, to / 1000]}
      series={[{ name: "largest gang", values: line.measurements.map(({ fit }) => fit?.largest ?? null), color: "--run-solid" }]}
      limits={[{ name: "free in all", values: line.measurements.map(({ fit }) => fit?.together ?? null) }]}
      format={(value) => value.toLocaleString("en")}
      onBrush={(one, other) => choose(rangeBetween(one * 1000, other * 1000))}
    >
      {last && <span className={styles.words}>{measurementWords(last)}</span>}
    </TimeChart>
  );
}
