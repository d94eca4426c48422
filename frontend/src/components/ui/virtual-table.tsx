// A virtual table that renders visible rows only; j and k move, Enter opens.
import {
  type Row as TableRow,
  type RowSelectionState,
  type Updater,
  createColumnHelper,
  rowSelectionFeature,
  tableFeatures,
  useTable,
} from "@tanstack/react-table";
import { type VirtualItem, type Virtualizer, useVirtualizer } from "@tanstack/react-virtual";
import { type ReactNode, type RefObject, useEffect, useId, useMemo, useRef, useState } from "react";

import { useRowPixels } from "@/lib/density";
import { useHotkeys } from "@/lib/hooks/use-hotkeys";
import { useIsNarrow } from "@/lib/hooks/use-is-narrow";

import { type Column, HeadRow } from "./virtual-table-head";
import { ItemRow, tracksOf } from "./virtual-table-row";
import styles from "./virtual-table.module.css";

export type { Column } from "./virtual-table-head";
export type Selection = RowSelectionState;

export interface VirtualTableProps<Item> {
  label: string;
  columns: Column<Item>[];
  rows: Item[];
  rowKey: (item: Item) => string;
  /** The id of the column that orders the rows, with "-" before it where the largest come first. */
  order?: string;
  onOrder?: (id: string) => void;
  /** Puts a column at another place among the columns; without it they stay where they are. */
  onMove?: (id: string, place: number) => void;
  /** The content of a row without columns, such as the head of a group; it cannot be selected. */
  whole?: (item: Item) => ReactNode;
  /** The key of the row that is shown beside the table. */
  opened?: string;
  onOpen?: (item: Item) => void;
  selection?: Selection;
  onSelection?: (selection: Selection) => void;
  /** The last rows have come into sight. */
  onEnd?: () => void;
  /** Where the rows are a tree. */
  tree?: Tree<Item>;
  /** What other keys do to the row that the arrow keys have reached. */
  keys?: Record<string, (item: Item) => void>;
}

export interface Tree<Item> {
  /** The depth of a row from 0, and whether what is below it is shown; undefined where nothing is below. */
  branchOf: (item: Item) => { depth: number; isOpen: boolean | undefined };
  /** The right arrow opens a row, the left one closes it. */
  onFold: (item: Item) => void;
}

const ROWS_BEFORE_END = 5;
const NONE: Selection = {};
const features = tableFeatures({ rowSelectionFeature });
export type Features = typeof features;

export function VirtualTable<Item extends object>(props: VirtualTableProps<Item>) {
  const { label, columns, order, onOrder, onMove, whole, opened, onOpen, onSelection, onEnd, tree, keys } = props;
  const frame = useRef<HTMLDivElement>(null);
  const id = useId();
  const table = useItems(props);
  const items = table.getRowModel().rows;
  const hasBelow = columns.some((column) => column.below !== undefined);
  const rowPixels = useRowPixels(useIsNarrow(frame) && hasBelow ? 2 : 1);
  const virtual = useRows(frame, items.length, rowPixels);
  const drawn = virtual.getVirtualItems();
  useEnd(drawn, items.length, onEnd);
  const [active, setActive] = useActive(items, (index) => virtual.scrollToIndex(index), onSelection !== undefined, { onOpen, tree, keys });
  const selects = onSelection !== undefined;
  const isSelecting = selects && (table.getIsSomeRowsSelected() || table.getIsAllRowsSelected());
  return (
    <div
      ref={frame}
      className={styles.frame}
      style={tracksOf(columns, selects, isSelecting)}
      data-selecting={isSelecting || undefined}
      role={tree ? "treegrid" : "grid"}
      aria-label={label}
      aria-rowcount={items.length + 1}
      aria-multiselectable={selects || undefined}
      aria-activedescendant={items[active] === undefined ? undefined : `${id}-${active}`}
      tabIndex={0}
    >
      <HeadRow {...{ columns, order, onOrder, onMove }}>
        {selects && <AllRowsBox checked={items.length > 0 && table.getIsAllRowsSelected()} onChange={table.getToggleAllRowsSelectedHandler()} />}
      </HeadRow>
      <div className={styles.body} role="rowgroup" style={{ height: items.length * rowPixels }}>
        {drawn.map((place) => {
          const item = items[place.index];
          return (
            item && (
              <ItemRow
                key={item.id}
                id={`${id}-${place.index}`}
                {...{ item, place, columns, selects, isSelecting, whole, tree }}
                active={place.index === active}
                opened={item.id === opened}
                onOpen={() => {
                  setActive(place.index);
                  onOpen?.(item.original);
                }}
              />
            )
          );
        })}
      </div>
    </div>
  );
}

function AllRowsBox(box: { checked: boolean; onChange: (event: unknown) => void }) {
  return (
    <span role="columnheader" className={styles.choice}>
      <label className={styles.box}>
        <input type="checkbox" className={styles.check} aria-label="Select all loaded rows" {...box} />
      </label>
    </span>
  );
}

function useItems<Item extends object>({ columns, rows, rowKey, whole, tree, selection = NONE, onSelection }: VirtualTableProps<Item>) {
  const helper = useMemo(() => createColumnHelper<Features, Item>(), []);
  const definitions = useMemo(
    () => columns.map(({ id, header }) => helper.display({ id, header })),
    [columns, helper],
  );
  return useTable({
    features,
    columns: definitions,
    data: rows,
    getRowId: rowKey,
    enableRowSelection: ({ original }) => !whole?.(original) && tree?.branchOf(original).isOpen === undefined,
    state: { rowSelection: selection },
    onRowSelectionChange: (change: Updater<Selection>) =>
      onSelection?.(typeof change === "function" ? change(selection) : change),
  });
}

function useRows(frame: RefObject<HTMLDivElement | null>, count: number, rowPixels: number): Virtualizer<HTMLDivElement, Element> {
  const virtual = useVirtualizer({ count, getScrollElement: () => frame.current, estimateSize: () => rowPixels, overscan: 12 });
  useEffect(() => virtual.measure(), [virtual, rowPixels]);
  return virtual;
}

function useEnd(drawn: VirtualItem[], count: number, onEnd: (() => void) | undefined): void {
  const last = drawn.at(-1)?.index ?? 0;
  useEffect(() => {
    if (count > 0 && last >= count - ROWS_BEFORE_END) onEnd?.();
  }, [last, count, onEnd]);
}

function useActive<Item extends object>(
  items: TableRow<Features, Item>[],
  bringIntoSight: (index: number) => void,
  selects: boolean,
  { onOpen, tree, keys = {} }: Pick<VirtualTableProps<Item>, "onOpen" | "tree" | "keys">,
): [number, (index: number) => void] {
  const [active, setActive] = useState(-1);
  const move = (step: number) => {
    if (items.length === 0) return;
    const next = Math.min(items.length - 1, Math.max(0, active + step));
    setActive(next);
    bringIntoSight(next);
  };
  const current = items[active];
  const fold = (isOpen: boolean) => current && tree?.branchOf(current.original).isOpen === isOpen && tree.onFold(current.original);
  const others = Object.entries(keys).map(([key, does]) => [key, () => current && does(current.original)] as const);
  useHotkeys({
    ...Object.fromEntries(others),
    j: () => move(1),
    k: () => move(-1),
    ArrowDown: () => move(1),
    ArrowUp: () => move(-1),
    ...(tree && { ArrowRight: () => fold(false), ArrowLeft: () => fold(true) }),
    Enter: () => current && onOpen?.(current.original),
    x: () => selects && current?.getCanSelect() && current.toggleSelected(),
  });
  return [active, setActive];
}
