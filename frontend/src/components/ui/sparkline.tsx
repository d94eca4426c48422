// A course as a small line; decorative, as the value stands beside it.
import styles from "./sparkline.module.css";

export interface SparklineProps {
  points: readonly number[];
  /** The value at the upper edge. */
  max: number;
}

const WIDTH = 64;
const HEIGHT = 20;

export function Sparkline({ points, max }: SparklineProps) {
  if (points.length < 2) return null;
  const x = (index: number) => ((index * WIDTH) / (points.length - 1)).toFixed(1);
  const y = (value: number) => (HEIGHT - 1 - (max > 0 ? Math.min(1, value / max) : 0) * (HEIGHT - 2)).toFixed(1);
  const line = points.map((value, index) => `${index === 0 ? "M" : "L"}${x(index)} ${y(value)}`).join("");
  return (
    <svg className={styles.line} viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
      <path d={line} />
    </svg>
  );
}
