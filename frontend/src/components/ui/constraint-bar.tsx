// What there is of what is requested, as one bar with its amounts beside it.
import type { Blocker } from "@/lib/api/types";

import styles from "./constraint-bar.module.css";
import { barOf } from "./constraint-model";

export function ConstraintBar({ blocker }: { blocker: Blocker }) {
  const { share, have, need, short } = barOf(blocker);
  return (
    <div className={styles.constraint}>
      <div className={styles.bar} role="img" aria-label={`${have} of ${need} available, ${short} short`}>
        <span className={styles.have} style={{ width: `${share * 100}%` }} />
      </div>
      <span className={styles.figures}>
        {have} of {need} available, <strong>{short} short</strong>
      </span>
    </div>
  );
}
