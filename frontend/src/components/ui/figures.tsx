// Figures beside each other: each with its name above, and what it is made of below.
import type { ReactNode } from "react";

import styles from "./figures.module.css";

export interface FigureItem {
  words: string;
  value: ReactNode;
  detail?: string;
}

export function Figures({ label, items }: { label: string; items: readonly FigureItem[] }) {
  return (
    <dl className={styles.figures} aria-label={label}>
      {items.map(({ words, value, detail }) => (
        <div key={words}>
          <dt>{words}</dt>
          <dd className={styles.value}>{value}</dd>
          {detail !== undefined && <dd className={styles.detail}>{detail}</dd>}
        </div>
      ))}
    </dl>
  );
}
