// The phases of a workload side by side: long idle time is folded and is spread in place, every other phase opens the events where it begins.
import { useState } from "react";

import { formatDuration } from "@/lib/format/times";

import { type PhaseSpan, spanKey, spread } from "../model/phase-timeline";
import styles from "./attempts.module.css";

export interface PhaseSpansProps {
  label: string;
  spans: readonly PhaseSpan[];
  onOpen: (from: string) => void;
}

export function PhaseSpans({ label, spans, onOpen }: PhaseSpansProps) {
  const [unfolded, setUnfolded] = useState<ReadonlySet<string>>(new Set());
  return (
    <ol className={styles.spans} aria-label={label}>
      {spread(spans, unfolded).map((span) => (
        <li key={spanKey(span)} style={{ flexGrow: span.share }}>
          {span.isFolded ? <Folded span={span} onSpread={() => setUnfolded(new Set([...unfolded, spanKey(span)]))} /> : <Span span={span} onOpen={() => onOpen(span.from)} />}
        </li>
      ))}
    </ol>
  );
}

function Folded({ span: { words, tone, seconds }, onSpread }: { span: PhaseSpan; onSpread: () => void }) {
  const length = formatDuration(seconds);
  return (
    <button type="button" className={styles.span} data-tone={tone} data-folded="" aria-expanded={false} aria-label={`${words}, ${length} folded`} title={`${words} ${length}; spread it`} onClick={onSpread}>
      <span className={styles.wave}>{length} folded</span>
    </button>
  );
}

function Span({ span: { words, tone, seconds }, onOpen }: { span: PhaseSpan; onOpen: () => void }) {
  return (
    <button type="button" className={styles.span} data-tone={tone} title={`${words} ${formatDuration(seconds)}`} onClick={onOpen}>
      <span>{words}</span> <span className={styles.length}>{formatDuration(seconds)}</span>
    </button>
  );
}
