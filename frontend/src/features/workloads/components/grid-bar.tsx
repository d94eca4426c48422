// Above the grid: the filter, the number of rows, and what is grouped, shown and exported.
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Columns3, Download, Group } from "lucide-react";

import { Button } from "@/components/ui/button";
import { Menu } from "@/components/ui/menu";
import { announce } from "@/components/ui/notices";
import { problemOf } from "@/lib/api/problem";
import { useUrl } from "@/lib/hooks/use-url";

import { exportRows, groupsQuery, rowsQuery } from "../api/workload-rows";
import { filterChange } from "../model/filter-text";
import { COLUMN_NAMES, COLUMN_WORDS, FIXED, GROUPS, GROUP_WORDS, type Grid, toggledColumn, totalOf, totalWords } from "../model/grid";
import { GridFilter } from "./grid-filter";
import styles from "./workloads-page.module.css";

/** What the list has in all, read with its first rows or its groups. */
function Total({ grid }: { grid: Grid }) {
  const by = grid.group;
  const rows = useInfiniteQuery({ ...rowsQuery(grid.filter, grid.order), enabled: by === null });
  const groups = useQuery({ ...groupsQuery(grid.filter, by ?? "queue"), enabled: by !== null });
  const total = by === null ? rows.data?.pages[0]?.total : totalOf(groups.data?.items);
  return (
    <span className={`${styles.total ?? ""} number`}>{total && totalWords(total, by === null && rows.data?.pages[0]?.totalExceeded === true)}</span>
  );
}

export function GridBar({ grid }: { grid: Grid }) {
  const url = useUrl();
  const save = () => {
    exportRows(grid.filter, grid.order).catch((error: unknown) => announce(problemOf(error).detail, "bad"));
  };
  return (
    <div className={styles.tools}>
      <GridFilter filter={grid.filter} onChange={(filter) => url.change(filterChange(filter), "replace")} />
      <Total grid={grid} />
      <Menu
        heading="Group by"
        trigger={
          <Button aria-pressed={grid.group !== null}>
            <Group aria-hidden="true" />
            <span className={grid.group === null ? undefined : styles.wide}>Group</span>
            {grid.group !== null && GROUP_WORDS[grid.group]}
          </Button>
        }
        items={[null, ...GROUPS].map((name) => ({
          key: name ?? "none",
          words: name === null ? "Nothing" : GROUP_WORDS[name],
          checked: grid.group === name,
          onSelect: () => url.change({ group: name ?? "", open: "" }),
        }))}
      />
      <Menu
        heading="Show columns"
        stays
        trigger={
          <Button shape="icon" hint="Columns" aria-label="Columns">
            <Columns3 aria-hidden="true" />
          </Button>
        }
        items={COLUMN_NAMES.filter((name) => !FIXED.includes(name)).map((name) => ({
          key: name,
          words: COLUMN_WORDS[name],
          checked: grid.columns.includes(name),
          onSelect: () => url.change({ columns: toggledColumn(grid.columns, name) }, "replace"),
        }))}
      />
      <Button shape="icon" className={styles.wide} hint="Export these rows as CSV" aria-label="Export as CSV" onClick={save}>
        <Download aria-hidden="true" />
      </Button>
    </div>
  );
}
