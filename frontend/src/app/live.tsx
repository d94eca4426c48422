// Refreshes everything on screen as the log grows while a user is signed in.
import { useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";

import { Coalescer } from "@/lib/live/coalescer";
import { LiveConnection } from "@/lib/live/connection";
import { publishFacts, publishFreshness } from "@/lib/live/live-store";
import { shownMoment } from "@/lib/past";
import { TOPICS, isTouched, topicsOf } from "@/lib/live/topics";

export function Live() {
  const client = useQueryClient();
  useEffect(() => {
    const refresh = async (topics: ReadonlySet<string>) => {
      // What is past changes no more.
      if (shownMoment() === "") await client.invalidateQueries({ predicate: (query) => isTouched(query.queryKey, topics) });
    };
    const coalescer = new Coalescer(refresh);
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
      coalescer.stop();
    };
  }, [client]);
  return null;
}
