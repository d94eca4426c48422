// Says that the rows of a list stand in an order of before, which the pointer or the focus holds, and shows that of now.
import { formatClock } from "@/lib/format/times";
import type { HeldOrder } from "@/lib/hooks/use-held-order";

import { Button } from "./button";
import styles from "./new-rows-button.module.css";

export function HeldOrderNote({ held: { since, refresh } }: { held: Pick<HeldOrder, "since" | "refresh"> }) {
  if (since === undefined) return null;
  return (
    <div className={styles.float} data-end="">
      <span className={styles.note} role="status">
        order from <span className="number">{formatClock(new Date(since).toISOString())}</span>
        <Button onClick={refresh}>Refresh</Button>
      </span>
    </div>
  );
}
