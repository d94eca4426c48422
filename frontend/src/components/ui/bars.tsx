// Counts over time as bars, with a range that can be drawn over them.
import { type PointerEvent, useRef, useState } from "react";

import { formatClock } from "@/lib/format/times";

import styles from "./bars.module.css";

export interface Bar {
  at: string;
  count: number;
}

export interface BarsProps {
  label: string;
  unit: string;
  bars: Bar[];
  /** The first and last index of the chosen range. */
  range?: [number, number] | null;
  onRange?: (first: number, last: number) => void;
}

export function Bars({ label, unit, bars, range, onRange }: BarsProps) {
  const plot = useRef<HTMLDivElement>(null);
  const [drag, setDrag] = useState<[number, number] | null>(null);
  const peak = Math.max(0, ...bars.map((bar) => bar.count));
  const total = bars.reduce((sum, bar) => sum + bar.count, 0);
  const shown = drag === null ? range : ordered(drag);

  const indexAt = (event: PointerEvent) => {
    const box = plot.current?.getBoundingClientRect();
    if (!box || box.width === 0) return 0;
    const index = Math.floor(((event.clientX - box.left) / box.width) * bars.length);
    return Math.min(bars.length - 1, Math.max(0, index));
  };
  const begin = (event: PointerEvent) => {
    if (!onRange) return;
    plot.current?.setPointerCapture(event.pointerId);
    setDrag([indexAt(event), indexAt(event)]);
  };
  const end = () => {
    if (drag !== null && onRange) onRange(...ordered(drag));
    setDrag(null);
  };
  return (
    <figure className={styles.chart} aria-label={`${label}: ${total} ${unit} in all, at most ${peak} at a time`}>
      <div
        ref={plot}
        className={`${styles.plot ?? ""} ${onRange ? (styles.brushable ?? "") : ""}`}
        onPointerDown={begin}
        onPointerMove={(event) => drag !== null && setDrag([drag[0], indexAt(event)])}
        onPointerUp={end}
        onPointerCancel={() => setDrag(null)}
      >
        {bars.map((bar, index) => (
          <div
            key={bar.at}
            className={`${styles.slot ?? ""} ${isOutside(index, shown) ? (styles.outside ?? "") : ""}`}
            title={`${formatClock(bar.at)}: ${bar.count} ${unit}`}
          >
            <div
              className={`${styles.bar ?? ""} ${bar.count > 0 ? (styles.full ?? "") : ""}`}
              style={{ height: `${peak === 0 ? 0 : (bar.count / peak) * 100}%` }}
            />
          </div>
        ))}
        {peak > 0 && <span className={styles.peak}>peak {peak}</span>}
      </div>
      <div className={styles.axis} aria-hidden="true">
        {axisOf(bars).map((at, index) => (
          <span key={index} className="number">
            {formatClock(at).slice(0, 5)}
          </span>
        ))}
      </div>
    </figure>
  );
}

function ordered([from, to]: [number, number]): [number, number] {
  return [Math.min(from, to), Math.max(from, to)];
}

function isOutside(index: number, range: [number, number] | null | undefined): boolean {
  return range != null && (index < range[0] || index > range[1]);
}

function axisOf(bars: Bar[]): string[] {
  if (bars.length < 2) return bars.map((bar) => bar.at);
  return [0, 0.25, 0.5, 0.75, 1].map((share) => bars[Math.round(share * (bars.length - 1))]?.at ?? "").filter(Boolean);
}
