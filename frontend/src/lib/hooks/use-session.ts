// The user of this tab, and what the user may do.
import { useQuery } from "@tanstack/react-query";
import { useSyncExternalStore } from "react";

import { api, contentOf } from "@/lib/api/request";
import { currentToken, onSessionChange } from "@/lib/api/session";
import type { Identity } from "@/lib/api/types";

/** The token, re-rendering when a user signs in or out. */
export function useToken(): string | null {
  return useSyncExternalStore(onSessionChange, currentToken);
}

/** The person behind the token; undefined until the server has said. */
export function useIdentity(): Identity | undefined {
  const token = useToken();
  const whoami = useQuery({
    queryKey: ["whoami", token],
    queryFn: ({ signal }) => contentOf(api.GET("/v1/whoami", { signal })),
    enabled: token !== null,
    staleTime: Infinity,
  });
  return whoami.data;
}
