// A figure with its name above and what it is made of below.
import type { ReactNode } from "react";

import styles from "./cycles.module.css";

export function Figure({ words, value, detail }: { words: string; value: ReactNode; detail: string }) {
  return (
    <div>
      <dt>{words}</dt>
      <dd className={styles.value}>{value}</dd>
      <dd className={styles.detail}>{detail}</dd>
    </div>
  );
}
