// What the colours and glyphs of the map mean.
import type { Colors } from "../model/map";
import styles from "./topology.module.css";

const SHOWN = 6;

export interface LegendProps {
  legend: Colors;
  isOfWorkloads: boolean;
  /** Whether domains that come near to taking a workload are outlined, and whether selected hosts are. */
  hasNear: boolean;
  hasSelected: boolean;
  /** Whether a device of a host has errors. */
  hasFaulty: boolean;
}

export function Legend({ legend, isOfWorkloads, hasNear, hasSelected, hasFaulty }: LegendProps) {
  const groups = [...legend];
  return (
    <ul className={styles.legend} aria-label="Legend">
      {groups.slice(0, SHOWN).map(([group, color]) => (
        <li key={group}>
          <span className={styles.swatch} style={{ background: `var(${color})` }} />
          {group}
        </li>
      ))}
      {groups.length > SHOWN && (
        <li>
          <span className={styles.swatch} style={{ background: `var(${groups.at(-1)?.[1] ?? ""})` }} />
          {groups.length - SHOWN} more
        </li>
      )}
      {isOfWorkloads && (
        <li>
          <span className={`${styles.swatch ?? ""} ${styles.others ?? ""}`} />
          Used outside Headgate
        </li>
      )}
      <li>
        <span className={`${styles.swatch ?? ""} ${styles.cordoned ?? ""}`} />
        cordoned
      </li>
      <li>
        <span className={`${styles.swatch ?? ""} ${styles.unready ?? ""}`} />
        not ready
      </li>
      {hasFaulty && (
        <li>
          <span className={`${styles.swatch ?? ""} ${styles.faulty ?? ""}`} />
          device errors
        </li>
      )}
      {hasNear && (
        <li>
          <span className={`${styles.swatch ?? ""} ${styles.near ?? ""}`} />
          near fit
        </li>
      )}
      {hasSelected && (
        <li>
          <span className={`${styles.swatch ?? ""} ${styles.selected ?? ""}`} />
          selected
        </li>
      )}
    </ul>
  );
}
