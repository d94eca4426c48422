// The admission checks of a workload with quota.
import { CircleCheck, CircleX, Hourglass, type LucideIcon, RotateCcw } from "lucide-react";

import { Badge, type Tone } from "@/components/ui/badge";
import { Card } from "@/components/ui/layout";
import { Timestamp } from "@/components/ui/timestamp";
import type { WorkloadObject } from "@/lib/api/types";

import styles from "./workload-page.module.css";

const LOOKS: Record<string, { tone: Tone; icon: LucideIcon }> = {
  Pending: { tone: "wait", icon: Hourglass },
  Ready: { tone: "good", icon: CircleCheck },
  Retry: { tone: "hold", icon: RotateCcw },
  Rejected: { tone: "bad", icon: CircleX },
};

export function Checks({ workload }: { workload: WorkloadObject }) {
  const checks = workload.status?.admissionChecks ?? [];
  if (checks.length === 0) return null;
  return (
    <Card title="Admission checks" aside="All must pass before admission">
      <ul className={styles.checks}>
        {checks.map(({ name, state, message, lastTransitionTime, retryCount = 0, requeueAfterSeconds }) => (
          <li key={name}>
            <Badge tone={LOOKS[state]?.tone ?? "idle"} icon={LOOKS[state]?.icon ?? Hourglass}>
              {name}: {state}
            </Badge>
            <span>
              {message || (state === "Pending" ? "No response yet" : "")}{" "}
              <span className={styles.soft}>
                <Timestamp at={lastTransitionTime} />
                {requeueAfterSeconds ? `, retry after ${requeueAfterSeconds} s` : ""}
                {retryCount > 0 && `, retried ${retryCount === 1 ? "once" : `${retryCount} times`}`}
              </span>
            </span>
          </li>
        ))}
      </ul>
    </Card>
  );
}
