// Providers that every page needs.
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { Tooltip } from "radix-ui";

import { useToken } from "@/lib/hooks/use-session";

import { Live } from "./live";
import { queryClient } from "./query-client";
import { router } from "./router";
import { SignIn } from "./sign-in";

const HINT_MILLISECONDS = 350;

export function Providers() {
  const token = useToken();
  return (
    <QueryClientProvider client={queryClient}>
      <Tooltip.Provider delayDuration={HINT_MILLISECONDS}>
        {token === null ? (
          <SignIn />
        ) : (
          <>
            <Live key={token} />
            <RouterProvider router={router} />
          </>
        )}
      </Tooltip.Provider>
    </QueryClientProvider>
  );
}
