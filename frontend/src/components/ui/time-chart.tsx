// Amounts over time: stacked areas or lines with limits and marks, a crosshair and a brush for pointer and keyboard, and a table instead.
import { ChartArea, Table } from "lucide-react";
import { type CSSProperties, type KeyboardEvent, type ReactNode, useId, useState } from "react";

import { useHotkeys } from "@/lib/hooks/use-hotkeys";
import { useMedia } from "@/lib/hooks/use-media";
import type { ChartMark } from "@/lib/marks";

import { Button } from "./button";
import { PlainTable } from "./plain-table";
import { RouterLink } from "./router-link";
import { areaAt, beginsWithLog, clockOf, everyNth, percentOf, stackedOf, tableTime, worded } from "./time-chart-model";
import { EdgeLabels } from "./time-chart-edge";
import styles from "./time-chart.module.css";
import { type ChartLimit, type ChartSeries, TimePlot } from "./time-plot";

export interface TimeChartProps {
  /** What is shown, as a caption and as the accessible name. */
  label: string;
  /** Instants in seconds since 1970, ascending. */
  times: number[];
  series: ChartSeries[];
  stacked?: boolean;
  limits?: ChartLimit[];
  marks?: ChartMark[];
  /** The first and last instant of the axis, in seconds. */
  range: [number, number];
  /** Nothing is known before this instant. */
  dataSince?: number | undefined;
  /** Nothing is known yet after this instant. */
  dataUntil?: number | undefined;
  format: (value: number) => string;
  /** A slim one has caption, legend and plot within few lines, above a list. */
  height?: "tall" | "short" | "slim";
  onBrush?: (from: number, to: number) => void;
  /** Labels stand at the right edge, beside the areas that they name. */
  edge?: boolean;
  /** Chooses an area by its name. */
  onArea?: ((name: string) => void) | undefined;
  children?: ReactNode;
}

const TABLE_ROWS = 25;
const PHONE = "(max-width: 48rem)";
const STEPS: Record<string, number> = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity };
const NONE: never[] = [];

export function TimeChart(props: TimeChartProps) {
  const { label, times, series, limits = NONE, range, dataSince, format, height = "tall", children } = props;
  const [asTable, setAsTable] = useState(false);
  const id = useId();
  useHotkeys({ t: () => setAsTable((shown) => !shown) });
  return (
    <figure className={styles.chart} data-height={height} aria-labelledby={id}>
      <figcaption className={styles.head}>
        <span id={id} className={styles.caption}>
          {label}
        </span>
        {(height === "tall" || children !== undefined) && beginsWithLog(range, dataSince) && <span className={styles.begins}>Log since {tableTime(dataSince ?? 0)}</span>}
        {children}
        <Button look="quiet" aria-pressed={asTable} aria-label={`${label}: ${asTable ? "show chart" : "show table"}`} onClick={() => setAsTable(!asTable)}>
          {asTable ? <ChartArea aria-hidden="true" /> : <Table aria-hidden="true" />}
          {asTable ? "Chart" : "Table"}
        </Button>
      </figcaption>
      {asTable ? <ChartTable {...{ label, times, series, limits, format }} /> : <Plot {...props} onTable={() => setAsTable(true)} />}
    </figure>
  );
}

/** The crosshair and the selection of a chart, both moved by keys. */
function useCrosshair({ times, onBrush, onTable }: Pick<TimeChartProps, "times" | "onBrush"> & { onTable: () => void }) {
  const [cursor, setCursor] = useState<number | null>(null);
  const [anchor, setAnchor] = useState<number | null>(null);
  const shown = cursor ?? times.length - 1;
  const ends: [number, number] | null = anchor === null ? null : [times[Math.min(anchor, shown)] ?? 0, times[Math.max(anchor, shown)] ?? 0];
  const move = (step: number, extend: boolean) => {
    setAnchor(extend ? (anchor ?? shown) : null);
    setCursor(Math.min(times.length - 1, Math.max(0, shown + step)));
  };
  const clear = () => {
    setAnchor(null);
    setCursor(null);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const step = STEPS[event.key];
    if (step !== undefined) move(step, event.shiftKey);
    else if (event.key === "Enter" && ends !== null && ends[0] < ends[1]) {
      clear();
      onBrush?.(...ends);
    } else if (event.key === "Escape" && (anchor !== null || cursor !== null)) clear();
    else if (event.key === "t") onTable();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return { shown, cursor, setCursor, selected: ends, onKeyDown };
}

function Plot(props: TimeChartProps & { onTable: () => void }) {
  const { label, times, series, limits = NONE, marks, range, dataSince, format, stacked = false, edge = false, dataUntil, onBrush, onArea } = props;
  const { shown, cursor, setCursor, selected, onKeyDown } = useCrosshair(props);
  const at = times[shown];
  const press = (index: number, value: number) => {
    const found = areaAt(stackedOf(series.map(({ values }) => values)), index, value);
    const name = found === undefined ? undefined : series[found]?.name;
    if (name !== undefined) onArea?.(name);
  };
  return (
    <>
      <div className={edge ? styles.beside : undefined}>
        <div
          className={styles.plot}
          role="slider"
          tabIndex={0}
          aria-label={`${label}: time`}
          aria-valuemin={0}
          aria-valuemax={Math.max(0, times.length - 1)}
          aria-valuenow={Math.max(0, shown)}
          aria-valuetext={at === undefined ? "No data" : spoken(at, series, limits, shown, format)}
          onKeyDown={onKeyDown}
        >
          <TimePlot {...{ times, series, limits, range, format, stacked, cursor, onBrush }} onCursor={setCursor} onPress={onArea && press} />
          {selected && <span className={styles.selected} style={spanOf(range, ...selected)} />}
          {dataSince !== undefined && dataSince > range[0] && (
            <span className={styles.before} style={spanOf(range, range[0], Math.min(dataSince, range[1]))}>
              {!beginsWithLog(range, dataSince) && <span>no data before {clockOf(dataSince, range)}</span>}
            </span>
          )}
          {dataUntil !== undefined && dataUntil < range[1] && (
            <span className={styles.before} data-after="" style={spanOf(range, Math.max(dataUntil, range[0]), range[1])}>
              <span>not read yet</span>
            </span>
          )}
        </div>
        {edge && <EdgeLabels {...{ series, limits, format, shown, onArea }} />}
      </div>
      {marks && <Marks marks={marks} range={range} />}
      <div className={edge ? styles.spareLegend : undefined}>
        <Legend {...{ series, limits, format, shown, at }} />
      </div>
    </>
  );
}

type LegendProps = Pick<TimeChartProps, "series" | "format"> & { limits: ChartLimit[]; shown: number; at: number | undefined };

function Legend({ series, limits, format, shown, at }: LegendProps) {
  return (
    <ul className={styles.legend}>
      {[...series].reverse().map((one) => (
        <li key={one.name}>
          <span className={styles.swatch} data-hatched={one.hatched || undefined} style={{ "--swatch": `var(${one.color})` } as CSSProperties} aria-hidden="true" />
          <span className={styles.name}>{one.name}</span>
          <span className="number">{worded(one.values[shown], format)}</span>
        </li>
      ))}
      {limits.map((limit) => (
        <li key={limit.name}>
          <span className={styles.line} data-dashed={limit.dashed || undefined} aria-hidden="true" />
          <span className={styles.name}>{limit.name}</span>
          <span className="number">{worded(limit.values[shown], format)}</span>
        </li>
      ))}
      <li className={styles.at}>{at === undefined ? "" : tableTime(at)}</li>
    </ul>
  );
}

/** Marks over the time axis; where fingers could not tell them apart they are listed below as well. */
function Marks({ marks, range }: { marks: ChartMark[]; range: [number, number] }) {
  const isPhone = useMedia(PHONE);
  const shown = marks.filter(({ at }) => at >= range[0] && at <= range[1]);
  const words = ({ at, words: said }: ChartMark) => `${tableTime(at)}: ${said}`;
  return (
    <>
      <ul className={styles.marks} data-placed="" aria-label="Changes, stops and outages" aria-hidden={isPhone || undefined}>
        {shown.map((mark, index) => (
          <li key={index} style={{ left: `${percentOf(range, mark.at)}%` }}>
            {isPhone ? <span data-kind={mark.kind} /> : <RouterLink to={mark.address} data-kind={mark.kind} aria-label={words(mark)} title={words(mark)} />}
          </li>
        ))}
      </ul>
      {isPhone && shown.length > 0 && (
        <details className={styles.listed}>
          <summary>Changes, stops and outages: {shown.length}</summary>
          <ul>
            {shown.map((mark, index) => (
              <li key={index}>
                <RouterLink to={mark.address}>{words(mark)}</RouterLink>
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}

function ChartTable({ label, times, series, limits, format }: Pick<TimeChartProps, "label" | "times" | "series" | "format"> & { limits: ChartLimit[] }) {
  const columns = [...series, ...limits];
  return (
    <div className={styles.table}>
      <PlainTable label={label} heads={["Time", ...columns.map(({ name }) => ({ words: name, figure: true as const }))]}>
        {everyNth(times, TABLE_ROWS)
          .reverse()
          .map((index) => (
            <tr key={index}>
              <th scope="row" className="number">
                {tableTime(times[index] ?? 0)}
              </th>
              {columns.map((column) => (
                <td key={column.name} data-figure>
                  {worded(column.values[index], format)}
                </td>
              ))}
            </tr>
          ))}
      </PlainTable>
    </div>
  );
}

function spoken(at: number, series: ChartSeries[], limits: ChartLimit[], index: number, format: (value: number) => string): string {
  const parts = [...series, ...limits].map(({ name, values }) => `${name} ${worded(values[index], format)}`);
  return `${tableTime(at)}: ${parts.join(", ")}`;
}

function spanOf(range: [number, number], from: number, to: number): CSSProperties {
  return { "--from": percentOf(range, from), "--to": percentOf(range, to) } as CSSProperties;
}
