// A short table that renders all rows; it scrolls sideways where it is too wide.
import type { ReactNode } from "react";

import styles from "./plain-table.module.css";

/** A column's heading; its cells carry `data-figure` and `data-spare` as it does. */
export type Head =
  | string
  | {
      words: string;
      /** Figures stand at the right edge of their column. */
      figure?: true;
      /** Left out where there is little room. */
      spare?: true;
    };

export interface PlainTableProps {
  /** The accessible name of the table. */
  label: string;
  heads: readonly Head[];
  /** Its rows. */
  children: ReactNode;
}

export function PlainTable({ label, heads, children }: PlainTableProps) {
  return (
    <div className={styles.scroll} tabIndex={0} role="group" aria-label={label}>
      <table className={styles.table}>
        <thead>
          <tr>
            {heads.map((head) => {
              const { words, figure, spare } = typeof head === "string" ? { words: head } : head;
              return (
                <th key={words} scope="col" data-figure={figure} data-spare={spare}>
                  {words}
                </th>
              );
            })}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}
