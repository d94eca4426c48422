// A name within its namespace; where there is little room, the namespace is cut short, then the name in its middle.
import styles from "./object-name.module.css";

/** The end of a name tells workloads of one series apart: it is never cut. */
const KEPT_LETTERS = 8;

/** With `short` the namespace is left out on a narrow table, which tells it elsewhere. */
export function ObjectName({ name, short = false }: { name: string; short?: boolean }) {
  const cut = name.lastIndexOf("/");
  const split = Math.max(cut + 1, name.length - KEPT_LETTERS);
  const inShort = short ? (styles.short ?? "") : "";
  return (
    <span className={styles.whole} title={name}>
      {cut >= 0 && <span className={`${styles.namespace ?? ""} ${inShort}`}>{name.slice(0, cut)}</span>}
      {cut >= 0 && <span className={inShort}>/</span>}
      <span className={styles.name}>
        {split > cut + 1 && <span className={styles.begin}>{name.slice(cut + 1, split)}</span>}
        <span>{name.slice(split)}</span>
      </span>
    </span>
  );
}
