// A short table that is all drawn; where it is wider than its place, it can be moved aside.
import type { ReactNode } from "react";

import styles from "./plain-table.module.css";

export interface PlainTableProps {
  /** What is in it, for those who cannot see it. */
  label: string;
  heads: readonly string[];
  /** Its rows. */
  children: ReactNode;
}

export function PlainTable({ label, heads, children }: PlainTableProps) {
  return (
    <div className={styles.scroll} tabIndex={0} role="region" aria-label={label}>
      <table className={styles.table}>
        <thead>
          <tr>
            {heads.map((head) => (
              <th key={head} scope="col">
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}
