// The moment everything is shown at, re-rendering when it changes.
import { useSyncExternalStore } from "react";

import { onMomentChange, shownMoment } from "@/lib/past";

/** Empty for now, else a log position or a time. */
export function useMoment(): string {
  return useSyncExternalStore(onMomentChange, shownMoment);
}
