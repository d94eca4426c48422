import { expect, test } from "vitest";

import { VIEWS, gridIn, gridOf, isShown, movedColumn, nextOrder, queryOf, toggledColumn, viewChange, totalWords } from "./grid";

function urlOf(given: Record<string, string>) {
  return { get: (name: string) => given[name] ?? "", change: () => undefined };
}

test("the address holds filter, order, group and columns; what is unknown is left out", () => {
  expect(gridIn(urlOf({ filter: "gpu:>8", sort: "-gpu", group: "queue", columns: "reason,gpu,nothing" }))).toEqual({
    filter: "gpu:>8",
    order: "-gpu",
    group: "queue",
    columns: ["phase", "name", "reason", "gpu"],
  });
  expect(gridIn(urlOf({ sort: "colour", group: "x" }))).toMatchObject({ order: "-submitted", group: null });
});

test("a head orders, reverses, and goes back to the newest first", () => {
  expect(nextOrder("-submitted", "gpu")).toBe("-gpu");
  expect(nextOrder("-gpu", "gpu")).toBe("gpu");
  expect(nextOrder("gpu", "gpu")).toBe("");
  expect(nextOrder("-gpu", "owner")).toBe("owner");
  expect(nextOrder("-submitted", "submitted")).toBe("submitted");
});

test("columns are shown and hidden; the usual ones need no parameter", () => {
  const { columns } = gridIn(urlOf({}));
  const without = toggledColumn(columns, "run");
  expect(without.split(",")).not.toContain("run");
  expect(toggledColumn(gridIn(urlOf({ columns: without })).columns, "run")).toBe("");
});

test("columns keep the order they are given; one that is added stands behind its neighbor", () => {
  const moved = movedColumn(gridIn(urlOf({ columns: "phase,name,gpu,reason" })).columns, "reason", 1);
  expect(moved).toBe("phase,reason,name,gpu");
  const { columns } = gridIn(urlOf({ columns: moved }));
  expect(toggledColumn(columns, "cpu")).toBe("phase,reason,name,gpu,cpu");
  expect(toggledColumn(columns, "owner")).toBe("phase,reason,name,owner,gpu");
  const usual = gridIn(urlOf({})).columns;
  expect(movedColumn(usual, "gpu", usual.indexOf("gpu"))).toBe("");
  expect(movedColumn(usual, "gpu", 0)).not.toBe("");
});

test("a view is shown where the address says what it says", () => {
  for (const view of VIEWS) {
    const grid = gridIn(urlOf(viewChange(view)));
    expect(VIEWS.filter((other) => isShown(other, grid)).map(({ name }) => name)).toEqual([view.name]);
  }
});

test("a saved view describes a grid whatever the order of its words", () => {
  const grid = gridIn(urlOf({ filter: "gpu:>8 owner:me", sort: "-gpu", group: "queue", columns: "reason,gpu" }));
  expect(gridOf(queryOf(grid))).toEqual(grid);
  expect(queryOf(gridIn(urlOf({ filter: "owner:me gpu:>8" })))).toBe(queryOf(gridIn(urlOf({ filter: "gpu:>8 owner:me" }))));
  expect(queryOf(gridIn(urlOf({})))).toBe("");
});

test("a total is exact up to 10,000", () => {
  expect(totalWords({ count: 1, gpus: 8 })).toBe("1 workload, 8 GPU");
  expect(totalWords({ count: 10_000, gpus: 8 })).toBe("10,000 workloads, 8 GPU");
  expect(totalWords({ count: 41_200, gpus: 8 })).toBe("10,000+ workloads, 8 GPU");
  expect(totalWords({ count: 10_000, gpus: 8 }, true)).toBe("10,000+ workloads");
});
