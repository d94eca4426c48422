// A name within its namespace; where there is little room, the namespace is cut short before the name.
import styles from "./object-name.module.css";

export function ObjectName({ name }: { name: string }) {
  const cut = name.lastIndexOf("/");
  return (
    <span className={styles.whole} title={name}>
      {cut >= 0 && <span className={styles.namespace}>{name.slice(0, cut)}</span>}
      <span className={styles.name}>{cut >= 0 ? name.slice(cut) : name}</span>
    </span>
  );
}
