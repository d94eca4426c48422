// Bars of quota: used, borrowed and lent, by pattern and words as well as by colour.
import type { CSSProperties } from "react";

import type { QuotaLine } from "@/lib/api/types";
import { byResource, shortResource } from "@/lib/format/amounts";

import { limitsOf, piecesOf, wordsOf } from "../model/quota-bar";
import styles from "./quota-lines.module.css";

export function QuotaLines({ lines }: { lines: QuotaLine[] }) {
  if (lines.length === 0) return <span className={styles.none}>No nominal quota</span>;
  return (
    <ul className={styles.lines}>
      {[...lines].sort((one, other) => byResource(one.resource, other.resource)).map((line) => (
        <QuotaBar key={`${line.flavor}/${line.resource}`} line={line} />
      ))}
    </ul>
  );
}

/** The bar of a line, which says what it shows. */
export function QuotaPieces({ line }: { line: QuotaLine }) {
  const pieces = piecesOf(line);
  return (
    <span className={styles.bar} role="img" aria-label={`${shortResource(line.resource)} of ${line.flavor}: ${wordsOf(line)}`} title={wordsOf(line)}>
      <span className={styles.own} style={width(pieces.own)} />
      <span className={styles.lent} style={width(pieces.lent)} />
      <span className={styles.free} style={width(pieces.nominalAt - pieces.own - pieces.lent)} />
      <span className={styles.borrowed} style={width(pieces.borrowed)} />
      <span className={styles.over} style={width(pieces.over)} />
    </span>
  );
}

function QuotaBar({ line }: { line: QuotaLine }) {
  const words = wordsOf(line);
  const limits = limitsOf(line);
  return (
    <li className={styles.line}>
      <span className={styles.label} title={`${line.resource} of flavor ${line.flavor}`}>
        {shortResource(line.resource)} <span className={styles.flavor}>{line.flavor}</span>
      </span>
      <QuotaPieces line={line} />
      <span className={styles.words}>
        {words}
        {limits && <span className={styles.limits}> · {limits}</span>}
      </span>
    </li>
  );
}

function width(share: number): CSSProperties {
  return { width: `${Math.max(0, share) * 100}%` };
}

export function QuotaLegend() {
  return (
    <ul className={styles.legend} aria-label="Legend">
      <li>
        <span className={`${styles.swatch ?? ""} ${styles.own ?? ""}`} /> Used (own quota)
      </li>
      <li>
        <span className={`${styles.swatch ?? ""} ${styles.lent ?? ""}`} /> Lent
      </li>
      <li>
        <span className={`${styles.swatch ?? ""} ${styles.borrowed ?? ""}`} /> Borrowed
      </li>
      <li>
        <span className={`${styles.swatch ?? ""} ${styles.over ?? ""}`} /> Over quota
      </li>
      <li>
        <span className={`${styles.swatch ?? ""} ${styles.bar ?? ""}`} /> Available
      </li>
    </ul>
  );
}
