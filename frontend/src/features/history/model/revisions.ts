// Changes of configuration in words.
import type { Revision } from "@/lib/api/types";

type Difference = Revision["differences"][number];

/** A value of a manifest on one line; what was not there is "nothing". */
export function valueWords(value: unknown): string {
  if (value === undefined || value === null) return "nothing";
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** The last part of a place that says what it is: "nominalQuota" for ".../resources/0/nominalQuota". */
export function placeWords({ path }: Difference): string {
  return path === "/" ? "the whole object" : path.slice(1).replaceAll("/", " › ");
}

/** Who it was, without the kind of actor. */
export function actorWords(actor: string): string {
  return actor.replace(/^user:/, "");
}
