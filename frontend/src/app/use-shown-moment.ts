// Keeps the address and the shown moment equal, and reads everything again when the moment changes.
import { useQueryClient } from "@tanstack/react-query";
import { useRouterState } from "@tanstack/react-router";
import { useEffect, useRef } from "react";

import { useMoment } from "@/lib/hooks/use-moment";
import { useUrl } from "@/lib/hooks/use-url";
import { momentIn, showMoment, shownMoment } from "@/lib/past";

/** The moment of all reads; links keep it until the user returns to live. */
export function useShownMoment(): string {
  const moment = useMoment();
  const url = useUrl();
  const client = useQueryClient();
  const search = useRouterState({ select: (state) => state.location.searchStr });
  const seen = useRef(moment);
  useEffect(() => {
    const asked = momentIn(search);
    if (asked === shownMoment()) return;
    if (asked !== "") showMoment(asked);
    else url.change({ at: shownMoment() }, "replace");
  }, [search, url]);
  useEffect(() => {
    if (seen.current === moment) return;
    seen.current = moment;
    url.change({ at: moment }, "replace");
    client.removeQueries({ type: "inactive" });
    void client.invalidateQueries();
  }, [moment, url, client]);
  return moment;
}
