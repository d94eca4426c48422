// Changes of configuration in words.
import { stringify } from "yaml";

import type { Revision } from "@/lib/api/types";

type Difference = Revision["differences"][number];

/** A value of a manifest on one line; what was not there is "nothing". */
export function valueWords(value: unknown): string {
  if (value === undefined || value === null) return "nothing";
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** A value that takes more than a line, as the lines of a document; undefined for those that take one. */
export function valueDocument(value: unknown): string | undefined {
  return typeof value === "object" && value !== null ? stringify(value).trimEnd() : undefined;
}

/** What came of the whole object; undefined where only a part of it differs. */
export function wholeWords({ path, before, after }: Difference): string | undefined {
  if (path !== "/") return undefined;
  return before === undefined || before === null ? "Created" : after === undefined || after === null ? "Deleted" : undefined;
}

/** The last name of a field path: "nominalQuota" for ".../resources/0/nominalQuota". */
export function placeWords({ path }: Difference): string {
  return path === "/" ? "the whole object" : path.slice(1).replaceAll("/", " › ");
}

/** The name of the actor, without its kind. */
export function actorWords(actor: string): string {
  return actor.replace(/^user:/, "");
}
