// A row of a virtual table, and the tracks of the columns at each width.
import type { Row as TableRow } from "@tanstack/react-table";
import type { VirtualItem } from "@tanstack/react-virtual";
import type { CSSProperties, ReactNode } from "react";

import { useLongPress } from "@/lib/hooks/use-long-press";

import type { Features, Tree } from "./virtual-table";
import { type Column, cellClass } from "./virtual-table-head";
import styles from "./virtual-table.module.css";

interface ItemRowProps<Item extends object> {
  id: string;
  item: TableRow<Features, Item>;
  place: VirtualItem;
  columns: Column<Item>[];
  selects: boolean;
  isSelecting: boolean;
  whole: ((item: Item) => ReactNode) | undefined;
  tree: Tree<Item> | undefined;
  active: boolean;
  opened: boolean;
  onOpen: () => void;
}

export function ItemRow<Item extends object>({ id, item, place, columns, selects, isSelecting, whole, tree, active, opened, onOpen }: ItemRowProps<Item>) {
  const content = whole?.(item.original);
  const branch = tree?.branchOf(item.original);
  // What stands for the rows below it is none of them.
  const canSelect = selects && !content && branch?.isOpen === undefined;
  const press = useLongPress(canSelect ? () => item.toggleSelected() : undefined);
  const names = [styles.row, styles.item, active ? styles.active : "", opened ? styles.opened : ""];
  return (
    <div
      id={id}
      role="row"
      aria-rowindex={place.index + 2}
      aria-level={branch && branch.depth + 1}
      aria-expanded={branch?.isOpen}
      data-active={active || undefined}
      aria-selected={canSelect ? item.getIsSelected() : undefined}
      className={names.filter(Boolean).join(" ")}
      style={{ height: place.size, transform: `translateY(${place.start}px)` }}
      {...press.handlers}
      onClick={(event) => {
        if (press.wasLong()) return;
        // What a cell opened elsewhere, such as a menu, is no part of the row.
        const target = event.target as HTMLElement;
        if (!event.currentTarget.contains(target) || target.closest("a, input, button, label")) return;
        // A finger that has begun to select goes on to do so.
        if (canSelect && isSelecting && press.isTouch()) item.toggleSelected();
        else onOpen();
      }}
    >
      {content && (
        <span role="gridcell" className={styles.whole} aria-colspan={columns.length + (selects ? 1 : 0)}>
          {content}
        </span>
      )}
      {selects && !content && (
        <span role="gridcell" className={styles.choice}>
          {canSelect && (
            <label className={styles.box}>
              <input
                type="checkbox"
                className={styles.check}
                aria-label={`Select ${item.id}`}
                checked={item.getIsSelected()}
                onChange={item.getToggleSelectedHandler()}
              />
            </label>
          )}
        </span>
      )}
      {!content && columns.map((column) => (
        <span key={column.id} role="gridcell" className={cellClass(column)}>
          {column.cell(item.original)}
        </span>
      ))}
    </div>
  );
}

/** The tracks of the columns at each width; a narrow table has the boxes of its rows only while some are selected. */
export function tracksOf<Item>(columns: Column<Item>[], selects: boolean, isSelecting: boolean): CSSProperties {
  const wide = columns.filter(({ below }) => below !== "alone");
  const list = (hasBox: boolean, widths: (string | undefined)[]) => [...(hasBox ? ["var(--check-width)"] : []), ...widths.filter((track) => track !== undefined)].join(" ");
  return {
    "--columns": list(selects, wide.map((column) => column.width)),
    "--columns-middle": list(selects, wide.map((column) => (column.spare ? undefined : column.width))),
    "--columns-narrow": list(isSelecting, columns.map((column) => column.narrow)),
    "--below": isSelecting ? 2 : 1,
  } as CSSProperties;
}
