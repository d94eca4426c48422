// Labels at the right edge of a chart, beside the areas and lines that they name.
import type { CSSProperties } from "react";

import { middlesOf, spread, stackedOf, worded } from "./time-chart-model";
import styles from "./time-chart.module.css";
import type { ChartLimit, ChartSeries } from "./time-plot";

/** What a label takes of the height of the plot: in a tall one a seventh is what a pointer needs, 24 pixels. */
const LABEL_SHARE = { tall: 1 / 7, few: 0.2 };
const FEW = 2;

export interface EdgeLabelsProps {
  series: ChartSeries[];
  limits: ChartLimit[];
  /** The index of the instant that the values are of. */
  shown: number;
  format: (value: number) => string;
  onArea?: ((name: string) => void) | undefined;
}

/** The names and values of stacked areas beside where they end; as buttons they filter. */
export function EdgeLabels({ series, limits, format, shown, onArea }: EdgeLabelsProps) {
  const stacked = stackedOf(series.map(({ values }) => values));
  const max = 1.05 * Math.max(1, ...(stacked.at(-1) ?? [0]), ...limits.flatMap(({ values }) => values.map((value) => value ?? 0)));
  const [areas, lines] = [middlesOf(stacked, max), limits.map(({ values }) => 1 - (values.at(-1) ?? 0) / max)];
  const all = [...series, ...limits];
  const places = spread([...areas, ...lines], all.length > FEW ? LABEL_SHARE.tall : LABEL_SHARE.few);
  return (
    <ul className={styles.edge} aria-label="Areas">
      {all.map((one, index) => (
        <li key={one.name} style={{ "--place": places[index] } as CSSProperties}>
          <EdgeLabel one={one} value={worded(one.values[shown], format)} onPress={onArea && "color" in one ? () => onArea(one.name) : undefined} />
        </li>
      ))}
    </ul>
  );
}

function EdgeLabel({ one, value, onPress }: { one: ChartSeries | ChartLimit; value: string; onPress: (() => void) | undefined }) {
  const words = (
    <>
      {"color" in one ? (
        <span className={styles.swatch} data-hatched={one.hatched || undefined} style={{ "--swatch": `var(${one.color})` } as CSSProperties} aria-hidden="true" />
      ) : (
        <span className={styles.line} data-dashed={one.dashed || undefined} aria-hidden="true" />
      )}
      <span className={styles.name}>{one.name}</span>
      <span className="number">{value}</span>
    </>
  );
  if (onPress === undefined) return <span className={styles.edgeLabel}>{words}</span>;
  return (
    <button type="button" className={styles.edgeLabel} onClick={onPress} title={`Filter by ${one.name}`}>
      {words}
    </button>
  );
}
