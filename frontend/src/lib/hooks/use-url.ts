// The query part of the address as the state of a page: read it, change it, share it as a link.
import { useRouter, useRouterState } from "@tanstack/react-router";
import { useMemo } from "react";

export interface UrlState {
  /** The parameter's text, empty when it is not set. */
  get: (name: string) => string;
  /** Sets or, with empty text, removes parameters; `replace` leaves no step in the browser's history. */
  change: (changes: Record<string, string>, how?: "push" | "replace") => void;
}

export function useUrl(): UrlState {
  const search = useRouterState({ select: (state) => state.location.searchStr });
  const router = useRouter();
  return useMemo(() => {
    const parameters = new URLSearchParams(search);
    return {
      get: (name) => parameters.get(name) ?? "",
      change: (changes, how = "push") => {
        const { pathname, searchStr } = router.latestLocation;
        router.history[how](pathname + searchWith(searchStr, changes));
      },
    };
  }, [search, router]);
}

/** Parameters have names and meanings of a version, so that links which were kept can be read later. */
const VERSION = "2";

/** The query string with some parameters changed, and the version of their names; empty text removes one. */
export function searchWith(search: string, changes: Record<string, string>): string {
  const parameters = new URLSearchParams(search);
  for (const [name, value] of Object.entries(changes)) {
    if (value === "") parameters.delete(name);
    else parameters.set(name, value);
  }
  parameters.delete("v");
  if (parameters.size > 0) parameters.set("v", VERSION);
  const text = parameters.toString().replaceAll("%2F", "/").replaceAll("%2C", ",");
  return text === "" ? "" : `?${text}`;
}
