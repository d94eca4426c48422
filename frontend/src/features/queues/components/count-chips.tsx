// The workloads of a queue by phase, each number a link to its list.
import { RouterLink } from "@/components/ui/router-link";
import type { QueueCounts, QueueNode } from "@/lib/api/types";

import styles from "./count-chips.module.css";

const CHIPS: { words: string; phase: string; fields: (keyof QueueCounts)[] }[] = [
  { words: "pending", phase: "Pending,Nominated", fields: ["pending", "inadmissible", "nominated"] },
  { words: "retrying", phase: "Retrying", fields: ["retrying"] },
  { words: "on hold", phase: "OnHold", fields: ["onHold"] },
  { words: "starting", phase: "QuotaReserved,Starting", fields: ["reserving", "starting"] },
  { words: "running", phase: "Running", fields: ["running"] },
  { words: "evicting", phase: "Evicting", fields: ["evicting"] },
];

export function CountChips({ node }: { node: QueueNode }) {
  const { counts } = node;
  if (!counts) return null;
  const shown = CHIPS.map((chip) => ({ ...chip, count: chip.fields.reduce((sum, field) => sum + (counts[field] ?? 0), 0) })).filter(
    (chip) => chip.count > 0,
  );
  if (shown.length === 0) return <span className={styles.chip}>idle</span>;
  return (
    <>
      {shown.map((chip) => (
        <RouterLink key={chip.words} className={styles.chip} to={`/workloads?clusterQueue=${encodeURIComponent(node.name)}&phase=${chip.phase}`}>
          <strong className="number">{chip.count}</strong> {chip.words}
        </RouterLink>
      ))}
    </>
  );
}
