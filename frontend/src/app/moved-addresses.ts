// Addresses of version 1, of links that were kept, and where their content is now.
import { changesAddress, configurationAddress } from "@/lib/events";
import { searchWith } from "@/lib/hooks/use-url";

/** Paths that moved, as the router knows them. */
export const MOVED_PATHS = ["/needs-attention", "/inbox", "/history", "/what-if", "/backtests", "/backtests/$id"] as const;

const SIMPLY: Record<string, string> = {
  "/needs-attention": "/attention",
  "/inbox": "/attention",
  "/what-if": "/simulations/new",
  "/backtests": "/simulations/backtest",
};

/** The address at which a moved one is found now, with all that it asks for; undefined for one that did not move. */
export function presentAddress(path: string, search: string): string | undefined {
  const [, first = "", ...rest] = path.replace(/\/$/, "").split("/");
  if (first === "history") return changesOf(search);
  if (first === "configuration") return rest.length === 0 ? objectOf(search) : undefined;
  if (first === "backtests" && rest.length > 0) return `/simulations/${rest.join("/")}${searchWith(search, {})}`;
  const to = SIMPLY[`/${[first, ...rest].join("/")}`];
  return to === undefined ? undefined : to + searchWith(search, {});
}

function changesOf(search: string): string {
  const stream = new URLSearchParams(search).get("stream") ?? "";
  if (stream === "") return `/configuration${searchWith(search, { view: "changes" })}`;
  const [path = "", query = ""] = changesAddress(stream).split("?");
  return path + searchWith(search, { stream: "", kind: "", ...Object.fromEntries(new URLSearchParams(query)) });
}

/** Kind and name were parameters; without a kind, or with those of a list of changes, the address is that of today. */
function objectOf(search: string): string | undefined {
  const parameters = new URLSearchParams(search);
  const kind = parameters.get("kind") ?? "";
  if (kind === "" || parameters.get("view") === "changes") return undefined;
  return configurationAddress(kind, parameters.get("name") ?? "") + searchWith(search, { kind: "", name: "" });
}
