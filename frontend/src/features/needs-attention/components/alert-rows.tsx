// Rows of alerts, which stay in their order while the pointer or the focus is among them.
import type { ReactNode } from "react";

import { HeldOrderNote } from "@/components/ui/held-order-note";
import { ListFrame } from "@/components/ui/layout";
import { inHeldOrder } from "@/lib/held-order";
import { useHeldOrder } from "@/lib/hooks/use-held-order";

import styles from "./cause-list.module.css";

interface AlertRowsProps<Alert> {
  label: string;
  /** In the order of the server. */
  alerts: readonly Alert[];
  keyOf: (alert: Alert) => string;
  /** What the list is narrowed to: another list has an order of its own. */
  asked: string;
  /** When the server gave this order, in milliseconds since 1970. */
  at: number;
  /** A list item with a key of its own. */
  row: (alert: Alert) => ReactNode;
}

export function AlertRows<Alert>({ label, alerts, keyOf, asked, at, row }: AlertRowsProps<Alert>) {
  const held = useHeldOrder(alerts.map(keyOf), { asked, at, isOn: true });
  return (
    <div {...held.handlers}>
      <ListFrame>
        <ul className={styles.causes} aria-label={label}>
          {inHeldOrder(alerts, keyOf, held.places).map(row)}
        </ul>
      </ListFrame>
      <div className={styles.note}>
        <HeldOrderNote held={held} />
      </div>
    </div>
  );
}
