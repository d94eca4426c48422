// The result of a bulk action for each workload.
import { useId } from "react";

import type { BulkResult } from "@/lib/api/types";

import styles from "./needs-attention.module.css";

type Item = BulkResult["items"][number];

const LOOKS: Record<Item["outcome"], string | undefined> = {
  eligible: styles.soft,
  done: styles.good,
  ineligible: styles.faint,
  refused: styles.bad,
};

export function BatchItems({ heading, items }: { heading: string; items: Pick<Item, "workload" | "outcome" | "reason" | "next">[] }) {
  const id = useId();
  return (
    <div>
      <p className={styles.caption} id={id}>
        {heading}
      </p>
      <ul className={styles.items} aria-labelledby={id} tabIndex={0}>
        {items.map((item) => (
          <li key={item.workload} className={styles.item} data-outcome={item.outcome}>
            <span className="mono">{item.workload}</span>
            <span className={LOOKS[item.outcome]}>{saidOf(item)}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}

function saidOf(item: Pick<Item, "outcome" | "reason" | "next">): string {
  if (item.reason) return item.reason;
  return item.outcome === "done" ? "Done" : (item.next ?? "");
}
