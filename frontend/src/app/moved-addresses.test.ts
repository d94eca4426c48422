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
  expect(presentAddress("/history", "?stream=localqueue/team-a/main&at=7")).toBe("/configuration?at=7&kind=localqueue&name=team-a/main&tab=history&v=2");
});

test("an address that did not move stays", () => {
  expect(presentAddress("/queues", "?x=1")).toBeUndefined();
  expect(presentAddress("/", "")).toBeUndefined();
});
