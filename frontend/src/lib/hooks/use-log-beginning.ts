// Where the axis of a chart begins in a young installation: with its log instead of with the range.
import { useState } from "react";

import { type TimeRange, beginningOf } from "@/lib/time-range";

export interface LogSeen {
  dataSince: string | null;
  at: string;
}

/** Where the axis begins instead of with the range, once an answer has told when the log began; and how to tell it. */
export function useLogBeginning(range: TimeRange): [string | undefined, (seen: LogSeen | undefined) => void] {
  const [log, setLog] = useState<{ since: string; at: string }>();
  const since = log && beginningOf(range, log.since, Date.parse(log.at));
  // Called while rendering, so that no chart is drawn over the range first. Only a later answer counts:
  // what follows from one may ask for another that is kept from before, and the two would alternate forever.
  const tell = (seen: LogSeen | undefined) => {
    if (seen?.dataSince && (log === undefined || Date.parse(seen.at) > Date.parse(log.at))) setLog({ since: seen.dataSince, at: seen.at });
  };
  return [since, tell];
}
