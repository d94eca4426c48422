import { describe, expect, it } from "vitest";

import type { Cause } from "@/lib/api/types";

import { acknowledgeCommand, countWords, countsByState, primaryAction, shownSeverity, shownState } from "./causes";

const cause = (key: string, state: Cause["state"]) => ({ key, state }) as Cause;
const CAUSES = [cause("a", "Open"), cause("b", "Snoozed"), cause("c", "Open")];

describe("shownState", () => {
  it("is the state that the address asks for", () => expect(shownState("Acknowledged", "b", CAUSES)).toBe("Acknowledged"));
  it("is that of the cause which a link opens", () => expect(shownState("", "b", CAUSES)).toBe("Snoozed"));
  it("is closed where the address asks for it", () => expect(shownState("Closed", "", CAUSES)).toBe("Closed"));
  it("is open where nothing is asked for", () => expect(shownState("nonsense", "gone", CAUSES)).toBe("Open"));
});

it("shows all severities where none is asked for that there is", () => expect(["critical", "info", "", "nonsense"].map(shownSeverity)).toEqual(["critical", "info", "", ""]));

it("counts causes by state", () => expect(countsByState(CAUSES, 3)).toEqual({ Open: 2, Acknowledged: 0, Snoozed: 1, Closed: 3 }));

it("counts the objects of a cause", () => expect([countWords({ unit: "Workload", count: 1 }), countWords({ unit: "Node", count: 1800 })]).toEqual(["1 workload", "1,800 nodes"]));

describe("primaryAction", () => {
  const of = (kind: string, stream = "") => primaryAction({ kind, count: 18, link: "/topology?host=h1", items: [{ stream }] as Cause["items"] });
  it("acts on all stuck workloads of a cause", () => expect(of("WorkloadRetrying")).toEqual({ words: "Requeue 18", verb: "requeue" }));
  it("lists workloads that need a decision each", () => expect(of("NeverStarts")).toEqual({ words: "Review 18", to: "/workloads?filter=phase:Unschedulable" }));
  it("leads to what is broken", () => expect(of("NodeNotReady")).toEqual({ words: "Show hosts", to: "/topology?host=h1" }));
  it("leads to the object to fix", () => expect(of("Configuration", "localqueue/team-a/main")).toEqual({ words: "Fix", to: "/configuration/localqueue/team-a/main" }));
  it("has one for a cause that is new here", () => expect(of("SomethingNew").words).toBe("Show events"));
});

describe("acknowledgeCommand", () => {
  it("quotes key and reason", () => expect(acknowledgeCommand("NodeNotReady/r 1", "it's power", 0)).toBe(`headgate acknowledge 'NodeNotReady/r 1' --reason 'it'\\''s power'`));
  it("names the length of a snooze", () => expect(acknowledgeCommand("a", "x", 14400)).toContain(" --for 4h"));
});
