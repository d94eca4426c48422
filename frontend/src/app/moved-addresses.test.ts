import { expect, test } from "vitest";

import { presentAddress } from "./moved-addresses";

test("addresses of version 1 lead to where their content is now", () => {
  expect(presentAddress("/needs-attention", "?alert=QueueInactive&at=12")).toBe("/attention?alert=QueueInactive&at=12&v=2");
  expect(presentAddress("/inbox", "")).toBe("/attention");
  expect(presentAddress("/what-if", "?workload=team-a/x")).toBe("/simulations/new?workload=team-a/x&v=2");
  expect(presentAddress("/backtests", "")).toBe("/simulations/backtest");
  expect(presentAddress("/backtests/b1", "?last=1h")).toBe("/simulations/b1?last=1h&v=2");
});

test("changes are part of the configuration, those of one object beside it", () => {
  expect(presentAddress("/history", "")).toBe("/configuration?view=changes&v=2");
  expect(presentAddress("/history", "?kind=Node&last=1h")).toBe("/configuration?kind=Node&last=1h&view=changes&v=2");
  expect(presentAddress("/history", "?stream=localqueue/team-a/main&at=7")).toBe("/configuration/localqueue/team-a/main?at=7&tab=history&v=2");
});

test("a configured object is a path of its own", () => {
  expect(presentAddress("/configuration", "?kind=ClusterQueue&name=gpu&tab=form")).toBe("/configuration/ClusterQueue/gpu?tab=form&v=2");
  expect(presentAddress("/configuration", "?kind=LocalQueue&name=team-a%2Fmain&at=7")).toBe("/configuration/LocalQueue/team-a/main?at=7&v=2");
  expect(presentAddress("/configuration", "?kind=ClusterQueue&new=1")).toBe("/configuration/ClusterQueue?new=1&v=2");
  expect(presentAddress("/configuration", "?kind=Node&view=changes")).toBeUndefined();
  expect(presentAddress("/configuration", "?new=yaml")).toBeUndefined();
  expect(presentAddress("/configuration/ClusterQueue/gpu", "?tab=history")).toBeUndefined();
});

test("an address that did not move stays", () => {
  expect(presentAddress("/queues", "?x=1")).toBeUndefined();
  expect(presentAddress("/", "")).toBeUndefined();
});
