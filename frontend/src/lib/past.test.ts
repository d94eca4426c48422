import { describe, expect, it, vi } from "vitest";

import { momentIn, onMomentChange, positionOf, showMoment, shownMoment, withMoment } from "./past";

const READ = "http://h/v1/queues";

describe("the moment that is shown", () => {
  it("is told to every listener, once for each change", () => {
    const listener = vi.fn();
    const stop = onMomentChange(listener);
    showMoment("12");
    showMoment("12");
    expect(shownMoment()).toBe("12");
    expect(listener).toHaveBeenCalledTimes(1);
    showMoment("");
    stop();
  });

  it("is read from an address", () => {
    expect(momentIn("?phase=Pending&at=7")).toBe("7");
    expect(momentIn("")).toBe("");
  });

  it("is a position only when it is nothing but digits", () => {
    expect(positionOf("7")).toBe(7);
    expect(positionOf("2026-09-24T12:00:00Z")).toBeUndefined();
    expect(positionOf("")).toBeUndefined();
  });
});

describe("the address of a read", () => {
  it("names the past, and then waits for nothing", () => {
    expect(withMoment(new URL(READ), "7", 99).search).toBe("?at=7");
  });

  it("waits for what is known in the present", () => {
    expect(withMoment(new URL(READ), "", 99).search).toBe("?minPosition=99");
  });

  it("may ask for the present while the past is shown", () => {
    expect(withMoment(new URL(`${READ}?at=now`), "7", 99).search).toBe("?minPosition=99");
  });

  it("speaks of now where there is no past", () => {
    expect(withMoment(new URL("http://h/v1/whoami"), "7", 99).search).toBe("?minPosition=99");
    expect(withMoment(new URL("http://h/v1/backtests/b1"), "7", 99).search).toBe("?minPosition=99");
    expect(withMoment(new URL("http://h/v1/simulations"), "7", 99).search).toBe("?minPosition=99");
  });
});
