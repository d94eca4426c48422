// The conditions of a workload, as Kubernetes people know them.
import { CircleCheck, CircleDashed, CircleX } from "lucide-react";

import { Badge } from "@/components/ui/badge";
import { Timestamp } from "@/components/ui/timestamp";
import { PlainTable } from "@/components/ui/plain-table";
import type { Condition, WorkloadObject } from "@/lib/api/types";

import styles from "./workload-page.module.css";

export function Conditions({ workload }: { workload: WorkloadObject }) {
  const conditions = workload.status?.conditions ?? [];
  if (conditions.length === 0) return null;
  return (
    <details className={styles.folded}>
      <summary>Conditions ({conditions.length})</summary>
      <PlainTable label="Conditions" heads={["Condition", "Reason", "Since"]}>
        {conditions.map((found) => (
          <ConditionRow key={found.type} found={found} />
        ))}
      </PlainTable>
    </details>
  );
}

function ConditionRow({ found }: { found: Condition }) {
  const look = found.status === "True" ? CircleCheck : found.status === "False" ? CircleX : CircleDashed;
  return (
    <tr>
      <th scope="row">
        <Badge tone={found.status === "True" ? "run" : "idle"} icon={look}>
          {found.type}: {found.status}
        </Badge>
      </th>
      <td className={styles.condition}>
        {found.reason}
        <span className={styles.soft}>{found.message ? ` — ${found.message}` : ""}</span>
      </td>
      <td>
        <Timestamp at={found.lastTransitionTime} />
      </td>
    </tr>
  );
}
