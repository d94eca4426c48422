import { describe, expect, it } from "vitest";

import { actorWords, placeWords, valueDocument, valueWords, wholeWords } from "./revisions";

describe("changes in words", () => {
  it("say what was there, also if it was nothing", () => {
    expect(valueWords("4")).toBe("4");
    expect(valueWords(undefined)).toBe("nothing");
    expect(valueWords({ a: 1 })).toBe('{"a":1}');
  });

  it("show what takes more than a line as a document", () => {
    expect(valueDocument({ spec: { levels: ["rack"] } })).toBe("spec:\n  levels:\n    - rack");
    expect(valueDocument("4")).toBeUndefined();
    expect(valueDocument(null)).toBeUndefined();
  });

  it("tell when the whole object came or went", () => {
    expect(wholeWords({ path: "/", before: null, after: { spec: {} } })).toBe("Created");
    expect(wholeWords({ path: "/", before: { spec: {} }, after: null })).toBe("Deleted");
    expect(wholeWords({ path: "/spec/cohortName", before: null, after: "campus" })).toBeUndefined();
  });

  it("name the place and the person", () => {
    expect(placeWords({ path: "/spec/cohortName" })).toBe("spec › cohortName");
    expect(placeWords({ path: "/" })).toBe("the whole object");
    expect(actorWords("user:ada")).toBe("ada");
  });
});
