// Refreshes everything on screen as the log grows while a user is signed in.
import { useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";

import { readsSent } from "@/lib/api/request";
import { Coalescer } from "@/lib/live/coalescer";
import { LiveConnection } from "@/lib/live/connection";
import { publishFacts, publishFreshness } from "@/lib/live/live-store";
import { PresenceWatch, pauseAfter } from "@/lib/live/pace";
import { refreshTouched } from "@/lib/live/refresh";
import { TOPICS, topicsOf } from "@/lib/live/topics";
import { shownMoment } from "@/lib/past";

/** Alerts and charts move with time alone as well, and are too dear to be read after each event. */
const TIMED_TOPICS = ["alerts", "capacity"];
const TIMED_MILLISECONDS = 10_000;

export function Live() {
  const client = useQueryClient();
  useEffect(() => {
    const refresh = async (topics: ReadonlySet<string>) => {
      const before = readsSent();
      // What is past changes no more.
      if (shownMoment() === "") await refreshTouched(client, topics);
      return readsSent() - before;
    };
    const watch = new PresenceWatch(() => coalescer.reschedule());
    const coalescer = new Coalescer(refresh, (requests) => pauseAfter(requests, watch.presence));
    const stopWatch = watch.start();
    const timed = setInterval(() => coalescer.mark(TIMED_TOPICS), TIMED_MILLISECONDS);
    const stop = new LiveConnection({
      freshness: publishFreshness,
      everything: () => coalescer.mark(TOPICS),
      facts: (facts) => {
        publishFacts(facts);
        for (const fact of facts) coalescer.mark(topicsOf(fact.type, fact.stream));
      },
    }).start();
    return () => {
      stop();
      stopWatch();
      clearInterval(timed);
      coalescer.stop();
    };
  }, [client]);
  return null;
}
