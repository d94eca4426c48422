// The state of a backtest as a word with its glyph.
import { CircleCheck, CirclePlay, CircleSlash, CircleX, Hourglass } from "lucide-react";

import { Badge } from "@/components/ui/badge";
import type { Backtest } from "@/lib/api/types";

import { stateTone } from "../model/backtests";

const ICONS = { Waiting: Hourglass, Running: CirclePlay, Done: CircleCheck, Failed: CircleX, Cancelled: CircleSlash };

export function StateBadge({ job }: { job: Pick<Backtest, "state" | "percent"> }) {
  return (
    <Badge tone={stateTone(job.state)} icon={ICONS[job.state]}>
      {job.state === "Running" ? `Running, ${job.percent} %` : job.state}
    </Badge>
  );
}
