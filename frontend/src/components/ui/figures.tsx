// Figures beside each other: each with its name above, and what it is made of below.
import type { ReactNode } from "react";

import styles from "./figures.module.css";

export interface FigureItem {
  words: string;
  value: ReactNode;
  detail?: string;
}

export interface FiguresProps {
  label: string;
  items: readonly FigureItem[];
  /** Small, in one line where there is room for it; what each is made of is told by its hint. */
  inline?: boolean;
}

export function Figures({ label, items, inline = false }: FiguresProps) {
  return (
    <dl className={styles.figures} aria-label={label} data-inline={inline || undefined}>
      {items.map(({ words, value, detail }) => (
        <div key={words} title={inline ? detail : undefined}>
          <dt>{words}</dt>
          <dd className={styles.value}>{value}</dd>
          {detail !== undefined && <dd className={styles.detail}>{detail}</dd>}
        </div>
      ))}
    </dl>
  );
}
