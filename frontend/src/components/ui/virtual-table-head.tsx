// The columns of a virtual table, and the row of their heads: some order the rows, and all can be moved where the table lets them.
import { ArrowDown, ArrowUp } from "lucide-react";
import { type DragEvent, type KeyboardEvent, type ReactNode, type RefObject, useEffect, useRef, useState } from "react";
import { createPortal } from "react-dom";

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
  /** Puts a column at a place among the columns, counted without it. */
  onMove: ((id: string, place: number) => void) | undefined;
  children: ReactNode;
}

export function HeadRow<Item>({ columns, order, onOrder, onMove, children }: HeadRowProps<Item>) {
  const row = useRef<HTMLDivElement>(null);
  const { propsOf, said } = useMovedColumns(row, columns, onMove);
  return (
    <div role="rowgroup" className={styles.head}>
      <div ref={row} className={styles.row} role="row" aria-rowindex={1}>
        {children}
        {columns.map((column) => (
          <span
            key={column.id}
            role="columnheader"
            aria-sort={order === column.id ? "ascending" : order === `-${column.id}` ? "descending" : undefined}
            className={`${cellClass(column)} ${column.below ? (styles.wide ?? "") : ""}`}
            {...propsOf(column, onOrder === undefined || !column.ordered)}
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
      {/* A rowgroup may have rows only. */}
      {onMove &&
        createPortal(
          <span className="visually-hidden" role="status">
            {said}
          </span>,
          document.body,
        )}
    </div>
  );
}

/** Heads are dragged to another place, or moved there by Shift with an arrow key. */
function useMovedColumns<Item>(row: RefObject<HTMLDivElement | null>, columns: Column<Item>[], onMove: ((id: string, place: number) => void) | undefined) {
  const [dragged, setDragged] = useState("");
  const [over, setOver] = useState("");
  const [moved, setMoved] = useState({ id: "", to: -1 });
  const place = columns.findIndex(({ id }) => id === moved.id);
  const isThere = place >= 0 && place === moved.to;
  // An element that is put elsewhere loses the focus.
  useEffect(() => {
    if (!isThere) return;
    const head = row.current?.querySelector<HTMLElement>(`[data-column="${moved.id}"]`);
    (head?.querySelector("button") ?? head)?.focus();
  }, [row, moved, isThere]);
  const propsOf = (column: Column<Item>, isPlain: boolean) => {
    if (onMove === undefined) return {};
    const { id } = column;
    const at = columns.findIndex((known) => known.id === id);
    return {
      "data-column": id,
      "data-over": over === id || undefined,
      "aria-keyshortcuts": "Shift+ArrowLeft Shift+ArrowRight",
      title: "Drag to move the column, or press Shift with an arrow key",
      // A head without a button has to take the focus itself.
      tabIndex: isPlain ? 0 : undefined,
      draggable: true,
      onDragStart: () => setDragged(id),
      onDragEnd: () => {
        setDragged("");
        setOver("");
      },
      onDragOver: (event: DragEvent) => {
        if (dragged === "") return;
        event.preventDefault();
        setOver(dragged === id ? "" : id);
      },
      onDrop: (event: DragEvent) => {
        event.preventDefault();
        // The end of a drag is not told to a head that is put elsewhere.
        setDragged("");
        setOver("");
        if (dragged !== "" && dragged !== id) onMove(dragged, at);
      },
      onKeyDown: (event: KeyboardEvent) => {
        const step = event.key === "ArrowLeft" ? -1 : event.key === "ArrowRight" ? 1 : 0;
        if (step === 0 || !event.shiftKey || at + step < 0 || at + step >= columns.length) return;
        event.preventDefault();
        onMove(id, at + step);
        setMoved({ id, to: at + step });
      },
    };
  };
  const found = columns[place];
  return { propsOf, said: found && isThere ? `${found.header}: column ${place + 1} of ${columns.length}` : "" };
}

/** The class of a column's cells. */
export function cellClass<Item>(column: Column<Item>): string {
  const onNarrow = column.below ? styles.below : column.narrow === undefined ? styles.wide : "";
  return [styles.cell, column.below === "alone" ? styles.alone : "", column.end ? styles.end : "", column.spare ? styles.spare : "", onNarrow].filter(Boolean).join(" ");
}
