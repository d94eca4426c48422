// What pods took of a node in the last 24 h, below what it offers.
import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";

import { nodeUsageQuery } from "@/lib/api/nodes";
import { formatAmount, shortResource } from "@/lib/format/amounts";
import { useLogBeginning } from "@/lib/hooks/use-log-beginning";
import type { TimeRange } from "@/lib/time-range";

import { PartialNote, Skeleton } from "./states";
import { TimeChart } from "./time-chart";
import { View } from "./view";

export interface NodeUseProps {
  name: string;
  resource: string;
  /** What stands beside the caption, such as the choice of the resource. */
  children?: ReactNode;
}

const LAST_DAY: TimeRange = { last: "24h", from: "", to: "" };

export function NodeUse({ name, resource, children }: NodeUseProps) {
  const [since, tellOfLog] = useLogBeginning(LAST_DAY);
  const usage = useQuery(nodeUsageQuery(name, since));
  tellOfLog(usage.data);
  // The points of the whole day are too far apart for the shorter axis.
  if (since !== undefined && usage.isPlaceholderData) return <Skeleton rows={4} />;
  return (
    <View query={usage} rows={4}>
      {({ points, complete, dataSince }) => {
        const times = points.map(({ at }) => Date.parse(at) / 1000);
        const from = Math.max(times[0] ?? 0, dataSince ? Date.parse(dataSince) / 1000 : 0);
        return (
          <>
            {!complete && <PartialNote>The most recent data points are not loaded yet.</PartialNote>}
            <TimeChart
              label={`Use in 24 h, ${shortResource(resource)}`}
              height="short"
              stacked
              times={times}
              range={[from, times.at(-1) ?? from]}
              series={[{ name: "in use", values: points.map(({ used }) => used[resource] ?? 0), color: "--quota-used" }]}
              limits={[{ name: "offered", values: points.map(({ allocatable }) => allocatable[resource] ?? 0) }]}
              format={(value) => formatAmount(resource, value)}
            >
              {children}
            </TimeChart>
          </>
        );
      }}
    </View>
  );
}
