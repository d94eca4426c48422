// A page that failed, within the frame. If the code of the page did not arrive, it is fetched again once the server answers.
import type { ErrorComponentProps } from "@tanstack/react-router";
import { useEffect, useRef } from "react";

import { Failed } from "@/components/ui/states";
import { isUnfetched } from "@/lib/api/problem";
import { useFreshness } from "@/lib/hooks/use-live";

export function PageFailure({ error, reset }: ErrorComponentProps) {
  const { link } = useFreshness();
  const unfetched = isUnfetched(error);
  const wasLost = useRef(false);
  useEffect(() => {
    if (!unfetched) return;
    if (link !== "connected") wasLost.current = true;
    else if (wasLost.current) window.location.reload();
  }, [link, unfetched]);
  return <Failed error={error} onRetry={unfetched ? () => void reloadIfServed() : reset} />;
}

// A reload while the server is down would leave the browser's own error page.
async function reloadIfServed(): Promise<void> {
  const served = await fetch("/healthz").then(
    () => true,
    () => false,
  );
  if (served) window.location.reload();
}
