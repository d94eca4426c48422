import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";

import { rangeIn } from "../time-range";
import { type LogSeen, useLogBeginning } from "./use-log-beginning";

const BEGAN = "2026-11-27T11:57:00Z";
const RANGE = rangeIn("?last=5m");

/** The axis of a page that has answers over the whole range, and from where the log begins, in its cache. */
function axisWith(whole: string, short: string): string {
  function Axis() {
    const [since, tell] = useLogBeginning(RANGE);
    tell(answeredAt(since === undefined ? whole : short));
    return since ?? "the range";
  }
  return renderToStaticMarkup(createElement(Axis));
}

function answeredAt(at: string): LogSeen {
  return { dataSince: BEGAN, at };
}

test("the axis begins with a log that is younger than half the range", () => {
  expect(axisWith("2026-11-27T11:58:00Z", "2026-11-27T11:58:01Z")).toBe("2026-11-27T11:57:00.000Z");
});

test("an answer of before the log was half as old as the range changes nothing after one of since then", () => {
  expect(axisWith("2026-11-27T11:59:29Z", "2026-11-27T11:59:31Z")).toBe("the range");
  expect(axisWith("2026-11-27T11:59:31Z", "2026-11-27T11:59:29Z")).toBe("the range");
});
