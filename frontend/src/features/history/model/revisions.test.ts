import { describe, expect, it } from "vitest";

import { actorWords, placeWords, valueWords } from "./revisions";

describe("changes in words", () => {
  it("say what was there, also if it was nothing", () => {
    expect(valueWords("4")).toBe("4");
    expect(valueWords(undefined)).toBe("nothing");
    expect(valueWords({ a: 1 })).toBe('{"a":1}');
  });

  it("name the place and the person", () => {
    expect(placeWords({ path: "/spec/cohortName" })).toBe("spec › cohortName");
    expect(placeWords({ path: "/" })).toBe("the whole object");
    expect(actorWords("user:ada")).toBe("ada");
  });
});
