// A name within its namespace; where there is little room, the namespace is cut short before the name.
import styles from "./object-name.module.css";

/** With `short` the namespace is left out on a narrow table, which tells it elsewhere. */
export function ObjectName({ name, short = false }: { name: string; short?: boolean }) {
  const cut = name.lastIndexOf("/");
  const inShort = short ? (styles.short ?? "") : "";
  return (
    <span className={styles.whole} title={name}>
      {cut >= 0 && <span className={`${styles.namespace ?? ""} ${inShort}`}>{name.slice(0, cut)}</span>}
      {cut >= 0 && <span className={inShort}>/</span>}
      <span className={styles.name}>{name.slice(cut + 1)}</span>
    </span>
  );
}
