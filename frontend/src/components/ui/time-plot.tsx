// The canvas of a chart over time: areas or lines drawn by uPlot, in the colors of the interface.
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { useEffect, useEffectEvent, useMemo, useRef } from "react";

import { chosenZone } from "@/lib/format/zone";
import { useScheme } from "@/lib/hooks/use-scheme";

import { clockOf, heldTo, stackedOf } from "./time-chart-model";
import styles from "./time-chart.module.css";

export interface ChartSeries {
  name: string;
  values: (number | null)[];
  /** The name of a color token, such as `--queue-1`. */
  color: string;
  /** Told apart from the others by hatching as well. */
  hatched?: boolean;
}

export interface ChartLimit {
  name: string;
  values: (number | null)[];
  dashed?: boolean;
}

export interface TimePlotProps {
  times: number[];
  series: ChartSeries[];
  limits: ChartLimit[];
  stacked: boolean;
  range: [number, number];
  format: (value: number) => string;
  /** The index of the instant under the crosshair. */
  cursor: number | null;
  onCursor: (index: number | null) => void;
  onBrush?: ((from: number, to: number) => void) | undefined;
  /** A click that is no selection: the index of the instant, and the height in the units of the series. */
  onPress?: ((index: number, value: number) => void) | undefined;
}

const AXIS_PIXELS = 60;
/** Half a label of the time axis. */
const RIGHT_PIXELS = 28;
const TICKS_PIXELS = 24;
/** The least distance of two labels of the time axis: a time of day to the second, and a gap. */
const TIME_PIXELS = 72;
const MINUTE = 60;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** Seconds between two labels of the time axis: steps of a clock, close enough that a narrow chart has more than one. */
const TIME_STEPS = [1, 2, 5, 10, 15, 30, MINUTE, 2 * MINUTE, 5 * MINUTE, 10 * MINUTE, 15 * MINUTE, 30 * MINUTE, HOUR, 2 * HOUR, 3 * HOUR, 6 * HOUR, 12 * HOUR, DAY, 2 * DAY, 7 * DAY, 14 * DAY, 28 * DAY, 56 * DAY, 112 * DAY];
/** Amounts are counted in whole base units. */
const WHOLE_STEPS = Array.from({ length: 18 }, (_, power) => [1, 2, 5].map((step) => step * 10 ** power)).flat();
/** The least distance of two labels of the vertical axis. */
const LINE_PIXELS = 18;
/** The greatest ratio of two such steps: in a low chart, a distance of its height by this leaves a label above zero. */
const STEP_RATIO = 2.5;
const MIN_BRUSH_PIXELS = 4;

export function TimePlot(props: TimePlotProps) {
  const scheme = useScheme();
  const { series, limits, stacked } = props;
  // Made anew only where its parts or colors are others; new values go into the one there is.
  const shape = [scheme, stacked, ...series.map(({ name, color }) => name + color), ...limits.map(({ name }) => name)].join("|");
  return <Drawing key={shape} {...props} />;
}

function Drawing({ times, series, limits, stacked, range, format, cursor, onCursor, onBrush, onPress }: TimePlotProps) {
  const frame = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  // The largest sum is drawn first: each area covers the lower part of the one before.
  const [from, to] = range;
  const data = useMemo(() => {
    const areas = stacked ? stackedOf(series.map(({ values }) => values)).reverse() : series.map(({ values }) => values);
    const rows = [...areas, ...limits.map(({ values }) => values)];
    // A step holds to the end of the axis: without it the last one has no width.
    return (stacked ? heldTo(to, times, rows) : [times, ...rows]) as uPlot.AlignedData;
  }, [times, series, limits, stacked, to]);
  const bounds = useEffectEvent(() => range);
  const words = useEffectEvent((value: number) => format(value));
  const report = useEffectEvent((index: number | null) => onCursor(index === null ? null : Math.min(index, times.length - 1)));
  const brushed = useEffectEvent((from: number, to: number) => onBrush?.(from, to));
  const pressed = useEffectEvent((index: number, value: number) => onPress?.(Math.min(index, times.length - 1), value));
  const make = useEffectEvent((box: HTMLElement) => {
    const options = optionsOf(box, stacked ? [...series].reverse() : series, limits, stacked, {
      range: () => bounds(),
      words: (value) => words(value),
      onCursor: (index) => report(index),
      onBrush: onBrush === undefined ? undefined : (from, to) => brushed(from, to),
      onPress: onPress === undefined ? undefined : (index, value) => pressed(index, value),
    });
    return new uPlot(options, data, box);
  });
  useEffect(() => {
    const box = frame.current;
    if (box === null) return;
    const made = make(box);
    plot.current = made;
    const observer = new ResizeObserver(() => made.setSize({ width: box.clientWidth, height: box.clientHeight }));
    observer.observe(box);
    return () => {
      observer.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, []);
  useEffect(() => {
    plot.current?.setData(data, false);
    plot.current?.setScale("x", { min: from, max: to });
  }, [data, from, to]);
  useEffect(() => {
    const chart = plot.current;
    if (chart === null || cursor === null || chart.cursor.idx === cursor) return;
    chart.setCursor({ left: chart.valToPos(times[cursor] ?? 0, "x"), top: 0 }, false);
  }, [cursor, times]);
  return <div ref={frame} className={styles.canvas} aria-hidden="true" />;
}

interface Callbacks {
  range: () => [number, number];
  words: (value: number) => string;
  onCursor: (index: number | null) => void;
  onBrush?: ((from: number, to: number) => void) | undefined;
  onPress?: ((index: number, value: number) => void) | undefined;
}

function optionsOf(box: HTMLElement, series: ChartSeries[], limits: ChartLimit[], stacked: boolean, callbacks: Callbacks): uPlot.Options {
  const color = colorsOf(box);
  const stepped = uPlot.paths.stepped?.({ align: 1 });
  const font = `12px ${getComputedStyle(box).fontFamily}`;
  const axis = { stroke: color("--ink-soft"), font, grid: { stroke: color("--line"), width: 1 }, ticks: { show: false } };
  return {
    width: box.clientWidth,
    height: box.clientHeight,
    padding: [8, RIGHT_PIXELS, 0, 0],
    // Where the hours of the axis are; their words are in the same zone.
    tzDate: (at) => (chosenZone() === "utc" ? uPlot.tzDate(new Date(at * 1000), "Etc/UTC") : new Date(at * 1000)),
    legend: { show: false },
    cursor: { y: false, points: { show: false }, drag: { x: callbacks.onBrush !== undefined, y: false, setScale: false } },
    scales: {
      x: { time: true, range: () => callbacks.range() },
      y: { range: (_, __, max) => [0, max > 0 ? max * 1.05 : 1] },
    },
    axes: [
      { ...axis, size: TICKS_PIXELS, space: TIME_PIXELS, incrs: TIME_STEPS, gap: 4, values: (_, splits) => splits.map((at) => clockOf(at, callbacks.range())) },
      { ...axis, size: AXIS_PIXELS, space: (_, __, ___, ____, height) => Math.min(LINE_PIXELS, height / STEP_RATIO), incrs: WHOLE_STEPS, values: (_, splits) => splits.map((value) => callbacks.words(value)) },
    ],
    series: [
      {},
      ...series.map((one): uPlot.Series => {
        const fill = color(one.color);
        return stacked
          ? { fill: one.hatched ? () => hatchOf(fill, color("--surface")) : fill, stroke: color("--surface"), width: 1, ...(stepped ? { paths: stepped } : {}), points: { show: false } }
          : { stroke: fill, width: 2, ...(one.hatched ? { dash: [6, 4] } : {}), points: { show: false } };
      }),
      ...limits.map(({ dashed }): uPlot.Series => ({ stroke: color("--ink"), width: 1.5, ...(dashed ? { dash: [6, 4] } : {}), ...(stepped ? { paths: stepped } : {}), points: { show: false } })),
    ],
    hooks: {
      ready: [(chart) => listenForClicks(chart, callbacks.onPress)],
      setCursor: [(chart) => callbacks.onCursor(chart.cursor.idx ?? null)],
      setSelect: [
        (chart) => {
          if (chart.select.width >= MIN_BRUSH_PIXELS) {
            callbacks.onBrush?.(chart.posToVal(chart.select.left, "x"), chart.posToVal(chart.select.left + chart.select.width, "x"));
          }
          chart.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
        },
      ],
    },
  };
}

/** A click where the pointer went down; what was drawn over an area is a selection. */
function listenForClicks(chart: uPlot, onPress: Callbacks["onPress"]): void {
  if (onPress === undefined) return;
  let down = 0;
  chart.over.classList.add(styles.pressable ?? "");
  chart.over.addEventListener("mousedown", ({ clientX }) => {
    down = clientX;
  });
  chart.over.addEventListener("click", ({ clientX, clientY }) => {
    if (Math.abs(clientX - down) >= MIN_BRUSH_PIXELS) return;
    const box = chart.over.getBoundingClientRect();
    onPress(chart.posToIdx(clientX - box.left), chart.posToVal(clientY - box.top, "y"));
  });
}

/** Color tokens as the canvas understands them. */
function colorsOf(box: HTMLElement): (token: string) => string {
  const probe = document.createElement("span");
  return (token) => {
    probe.style.color = `var(${token})`;
    box.append(probe);
    const found = getComputedStyle(probe).color;
    probe.remove();
    return found;
  };
}

function hatchOf(color: string, ground: string): CanvasPattern | string {
  const tile = document.createElement("canvas");
  tile.width = tile.height = 8;
  const pen = tile.getContext("2d");
  if (pen === null) return color;
  pen.fillStyle = color;
  pen.fillRect(0, 0, 8, 8);
  pen.strokeStyle = ground;
  pen.lineWidth = 2;
  pen.beginPath();
  for (const shift of [-8, 0, 8]) {
    pen.moveTo(shift, 8);
    pen.lineTo(shift + 8, 0);
  }
  pen.stroke();
  return pen.createPattern(tile, "repeat") ?? color;
}
