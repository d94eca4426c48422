// One event of the log on one line: type, object, time and actor.
import { Circle, CircleCheck, CirclePause, CirclePlay, CircleX, Clock, Target } from "lucide-react";

import type { Fact } from "@/lib/api/types";
import { addressOfStream, factDetail, factTone, factWords, subjectOf } from "@/lib/events";

import { Badge } from "./badge";
import styles from "./event-line.module.css";
import { RouterLink } from "./router-link";
import { Timestamp } from "./timestamp";

const ICONS = {
  wait: Clock,
  move: Target,
  run: CirclePlay,
  good: CircleCheck,
  bad: CircleX,
  hold: CirclePause,
  idle: Circle,
};

export function FactBadge({ fact }: { fact: Pick<Fact, "type" | "data"> }) {
  const tone = factTone(fact);
  return (
    <Badge tone={tone} icon={ICONS[tone]}>
      {factWords(fact)}
    </Badge>
  );
}

/** The symbol of an event's type, where its title stands beside it. */
export function FactMark({ fact }: { fact: Pick<Fact, "type" | "data"> }) {
  const tone = factTone(fact);
  const Icon = ICONS[tone];
  return <Icon className={styles.symbol} data-tone={tone} aria-hidden="true" />;
}

export function Subject({ stream }: { stream: string }) {
  const address = addressOfStream(stream);
  const words = subjectOf(stream);
  return address === "" ? <span>{words}</span> : <RouterLink to={address}>{words}</RouterLink>;
}

export function EventLine({ fact }: { fact: Fact }) {
  const detail = factDetail(fact);
  const person = fact.actor.startsWith("user:") ? ` by ${fact.actor.slice("user:".length)}` : "";
  return (
    <li className={styles.line}>
      <span className={styles.what}>
        <FactBadge fact={fact} />
        <span className={styles.subject}>
          <Subject stream={fact.stream} />
        </span>
      </span>
      <span className={styles.when}>
        <Timestamp at={fact.at} />
        {person}
      </span>
      {detail !== "" && <span className={styles.detail}>{detail}</span>}
    </li>
  );
}
