// The columns of a virtual table, and the row of their heads, of which some order the rows.
import { ArrowDown, ArrowUp } from "lucide-react";
import type { ReactNode } from "react";

import styles from "./virtual-table.module.css";

export interface Column<Item> {
  id: string;
  header: string;
  /** A track of a CSS grid, such as `minmax(0, 2fr)`. */
  width: string;
  /** Its track on a narrow screen; without one it is left out there. */
  narrow?: string;
  /** On a narrow screen the column is below the others, on a line of its own; "alone" where it is shown nowhere else. */
  below?: boolean | "alone";
  /** Left out where the table has little room for all of its columns. */
  spare?: boolean;
  end?: boolean;
  /** Its cells are glyphs, too narrow for the words of a head: everywhere, or on a phone. */
  isIcon?: boolean | "narrow";
  /** Whether its head orders the rows. */
  ordered?: boolean;
  cell: (item: Item) => ReactNode;
}

interface HeadRowProps<Item> {
  columns: Column<Item>[];
  order: string | undefined;
  onOrder: ((id: string) => void) | undefined;
  children: ReactNode;
}

export function HeadRow<Item>({ columns, order, onOrder, children }: HeadRowProps<Item>) {
  return (
    <div role="rowgroup" className={styles.head}>
      <div className={styles.row} role="row" aria-rowindex={1}>
        {children}
        {columns.map((column) => (
          <span
            key={column.id}
            role="columnheader"
            aria-sort={order === column.id ? "ascending" : order === `-${column.id}` ? "descending" : undefined}
            className={`${cellClass(column)} ${column.below ? (styles.wide ?? "") : ""}`}
          >
            {column.ordered && onOrder ? (
              <button type="button" className={`${styles.order ?? ""} ${column.isIcon === "narrow" ? (styles.icon ?? "") : ""}`} onClick={() => onOrder(column.id)}>
                {column.header}
                {order === column.id && <ArrowUp aria-hidden="true" />}
                {order === `-${column.id}` && <ArrowDown aria-hidden="true" />}
              </button>
            ) : (
              <span className={column.isIcon === true ? "visually-hidden" : undefined}>{column.header}</span>
            )}
          </span>
        ))}
      </div>
    </div>
  );
}

/** The class of a column's cells. */
export function cellClass<Item>(column: Column<Item>): string {
  const onNarrow = column.below ? styles.below : column.narrow === undefined ? styles.wide : "";
  return [styles.cell, column.below === "alone" ? styles.alone : "", column.end ? styles.end : "", column.spare ? styles.spare : "", onNarrow].filter(Boolean).join(" ");
}
