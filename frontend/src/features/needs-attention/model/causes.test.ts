import { describe, expect, it } from "vitest";

import type { Cause } from "@/lib/api/types";

import { acknowledgeCommand, countsByState, shownState } from "./causes";

const cause = (key: string, state: Cause["state"]) => ({ key, state }) as Cause;
const CAUSES = [cause("a", "Open"), cause("b", "Snoozed"), cause("c", "Open")];

describe("shownState", () => {
  it("is the state that the address asks for", () => expect(shownState("Acknowledged", "b", CAUSES)).toBe("Acknowledged"));
  it("is that of the cause which a link opens", () => expect(shownState("", "b", CAUSES)).toBe("Snoozed"));
  it("is open where nothing is asked for", () => expect(shownState("nonsense", "gone", CAUSES)).toBe("Open"));
});

it("counts causes by state", () => expect(countsByState(CAUSES)).toEqual({ Open: 2, Acknowledged: 0, Snoozed: 1 }));

describe("acknowledgeCommand", () => {
  it("quotes key and reason", () => expect(acknowledgeCommand("NodeNotReady/r 1", "it's power", 0)).toBe(`headgate acknowledge 'NodeNotReady/r 1' --reason 'it'\\''s power'`));
  it("names the length of a snooze", () => expect(acknowledgeCommand("a", "x", 14400)).toContain(" --for 4h"));
});
