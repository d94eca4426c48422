// The preview of an action on a stuck workload: counters that it resets, and its effect.
import { useQuery } from "@tanstack/react-query";

import { Card } from "@/components/ui/layout";
import { View } from "@/components/ui/view";
import type { StuckWorkload, WorkloadObject } from "@/lib/api/types";

import { caseQuery } from "../api/workloads";
import { keyOf } from "../model/list-anchor";
import styles from "./workload-page.module.css";

const PATIENTS = ["Inactive", "Retrying", "OnHold"];
const IF: Record<string, string> = {
  activate: "If you activate it",
  requeue: "If you requeue it now",
  release: "If you release it",
};

export function RecoveryPreview({ workload }: { workload: WorkloadObject }) {
  if (!PATIENTS.includes(workload.status?.phase ?? "")) return null;
  return <Patient workloadKey={keyOf(workload)} />;
}

function Patient({ workloadKey }: { workloadKey: string }) {
  const found = useQuery(caseQuery(workloadKey));
  // It may have got well since: then there is nothing to tell.
  if (found.isError) return null;
  return <View query={found} rows={2}>{(one) => <Foretold found={one} />}</View>;
}

function Foretold({ found }: { found: StuckWorkload }) {
  return (
    <Card title={IF[found.helps] ?? found.helps} aside="Simulated on the current state" padded>
      <p>{found.next}.</p>
      <p className={styles.soft}>
        Resets: {(found.resets ?? []).join(", ")}. Keeps: {(found.keeps ?? []).join(", ")}.
      </p>
    </Card>
  );
}
