// The pods of a workload beside its other facts: the newest ones in short, and those that failed.
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";

import { Button } from "@/components/ui/button";
import { CodeBlock } from "@/components/ui/code-block";
import { Card } from "@/components/ui/layout";
import { PlainTable } from "@/components/ui/plain-table";
import { RouterLink } from "@/components/ui/router-link";

import { podsQuery } from "../api/pods";
import { explanationQuery } from "../api/workloads";
import { ALL_PODS, countWords, endWords, logAddress, podCount, podName, worstFirst } from "../model/pods";
import { LogLink, NodeLink, RunTime, StateBadge } from "./pod-cells";
import styles from "./pods.module.css";

const MAX_SUMMARY = 8;

/** The pods that matter most, failed ones first. */
export function PodsSummary({ workloadKey, onAll }: { workloadKey: string; onAll: () => void }) {
  const page = useInfiniteQuery(podsQuery(workloadKey, ALL_PODS)).data?.pages[0];
  if (page === undefined || page.items.length === 0) return null;
  const latest = page.attempts.find(({ attempt }) => attempt === page.attempt);
  const all = latest === undefined ? page.items.length : podCount(latest);
  const shown = worstFirst(page.items).slice(0, MAX_SUMMARY);
  return (
    <Card title="Pods" aside={latest && countWords(latest)}>
      <PlainTable label="Pods of the newest attempt" heads={[{ words: "Rank", figure: true }, "Node", "State", "End", { words: "Restarts", figure: true, spare: true }, { words: "Run time", figure: true, spare: true }, "Logs"]}>
        {shown.map((pod) => (
          <tr key={`${podName(pod)}/${pod.run}`}>
            <th scope="row" data-figure>{pod.rank ?? "—"}</th>
            <td><NodeLink node={pod.node} /></td>
            <td><StateBadge state={pod.state} /></td>
            <td>{endWords(pod) || "—"}</td>
            <td data-figure data-spare>{pod.run - 1}</td>
            <td data-figure data-spare><RunTime pod={pod} /></td>
            <td><LogLink pod={pod} workloadKey={workloadKey} attempt={String(page.attempt)} /></td>
          </tr>
        ))}
      </PlainTable>
      {all > shown.length && (
        <p className={styles.more}>
          <Button look="quiet" onClick={onAll}>
            All {all} pods
          </Button>
        </p>
      )}
    </Card>
  );
}

/** The first pods that failed, each with the lines of its log that tell most. */
export function FailedPods({ workloadKey }: { workloadKey: string }) {
  const { failedPods: found = [], failedPodCount = 0, phase } = useQuery(explanationQuery(workloadKey)).data ?? {};
  // The verdict on what has failed is about the first of them.
  const failedPods = phase === "Failed" ? found.slice(1) : found;
  if (failedPods.length === 0) return null;
  return (
    <Card title="Failed pods" aside={failedPodCount > found.length ? `First ${found.length} of ${failedPodCount}` : undefined}>
      <ul className={styles.failed}>
        {failedPods.map((pod) => (
          <li key={`${podName(pod)}/${pod.run}`}>
            <span>
              {podName(pod)} {pod.node && <>on <NodeLink node={pod.node} /></>}: <span className={styles.bad}>{endWords(pod)}</span>
            </span>
            {pod.firstError && <span>First error: {pod.firstError}</span>}
            {pod.lastLines && pod.lastLines.length > 0 && (
              <CodeBlock text={pod.lastLines.join("\n")} label={`last lines of ${podName(pod)}`} wrap />
            )}
            <RouterLink to={logAddress(workloadKey, String(pod.attempt), pod)}>Open logs of {podName(pod)}</RouterLink>
          </li>
        ))}
      </ul>
    </Card>
  );
}
