// The attempts of a workload, each as a row of its phases with how it ended; a phase opens the timeline where it begins.
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";

import { useNow } from "@/lib/hooks/use-now";

import { podsQuery } from "../api/pods";
import { explanationQuery, timelineQuery } from "../api/workloads";
import { type Attempt, attemptsOf } from "../model/attempts";
import { ALL_PODS } from "../model/pods";
import styles from "./attempts.module.css";
import { PhaseSpans } from "./phase-spans";

const MAX_SHOWN = 3;

export interface AttemptsProps {
  workloadKey: string;
  /** Shows the timeline, at an event if there is one. */
  onOpen: (position: string) => void;
}

export function Attempts({ workloadKey, onOpen }: AttemptsProps) {
  const life = useInfiniteQuery(timelineQuery(workloadKey)).data;
  const { data: explanation } = useQuery(explanationQuery(workloadKey));
  const latest = useInfiniteQuery(podsQuery(workloadKey, ALL_PODS)).data?.pages[0]?.attempts.at(-1)?.attempt ?? 0;
  const now = new Date(useNow()).toISOString();
  if (life === undefined) return <div className={styles.waiting} />;
  const attempts = attemptsOf(life, explanation?.failedPods, latest, now);
  const shown = attempts.slice(0, MAX_SHOWN);
  const rest = (shown.at(-1)?.number ?? 1) - 1;
  const at = (from: string) => String(life.entries.find((entry) => entry.at === from)?.position ?? "");
  return (
    <ol className={styles.attempts} aria-label="Attempts">
      {shown.map((attempt) => (
        <Row key={attempt.number} attempt={attempt} onOpen={(from) => onOpen(at(from))} />
      ))}
      {rest > 0 && (
        <li>
          <button type="button" className={styles.more} onClick={() => onOpen("")}>
            {rest === 1 ? "1 earlier attempt" : `${rest} earlier attempts`}
          </button>
        </li>
      )}
    </ol>
  );
}

function Row({ attempt: { number, spans, end }, onOpen }: { attempt: Attempt; onOpen: (from: string) => void }) {
  return (
    <li className={styles.attempt}>
      <span className={styles.number}>Attempt {number}</span>
      <PhaseSpans label={`Phases of attempt ${number}`} spans={spans} onOpen={onOpen} />
      <span className={styles.end}>{end}</span>
    </li>
  );
}
