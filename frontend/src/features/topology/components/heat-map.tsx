// Thousands of hosts as cells on a canvas: fill by use, patterns for health, outlines for near fits; searched, zoomed and walked by keyboard.
import { type KeyboardEvent, type PointerEvent, type RefObject, useEffect, useId, useMemo, useRef, useState } from "react";

import { RouterLink } from "@/components/ui/router-link";
import type { NearFit, WorkloadsOnHost } from "@/lib/api/types";
import { workloadAddress } from "@/lib/events";
import { formatAmount, shortResource } from "@/lib/format/amounts";
import { useScheme } from "@/lib/hooks/use-scheme";

import { type Domain, nameOf, type RowState, stateOf } from "../model/columns";
import { areCards, cellAfter, cellAt, type HeatMap, heatMapOf, type Label } from "../model/heat-map";
import { type Colouring, type Colors, hostWorkloadWords, stateWords } from "../model/map";
import { drawMap, isNear, type MapLook } from "./heat-map-drawing";
import styles from "./heat-map.module.css";

export interface HeatMapViewProps {
  domains: Domain[];
  states: RowState[];
  /** The workloads on hosts that are shown as cards. */
  workloads: WorkloadsOnHost[] | undefined;
  resource: string;
  colouring: Colouring;
  legend: Colors;
  opened: string;
  /** Domains that come nearest to taking the chosen workload, by path. */
  near: Map<string, NearFit>;
  /** Hosts that an action will be about, by name. */
  selected: ReadonlySet<string>;
  onZoom: (path: string[]) => void;
  onHost: (name: string) => void;
  onSelect: (name: string) => void;
  /** What hosts are looked for by; others are dimmed. */
  sought: string;
}

const KEYS = new Set(["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "PageUp", "PageDown", "Home", "End"]);

export function HeatMapView(props: HeatMapViewProps) {
  return (
    <section className={styles.view} aria-label="Map of hosts">
      <Cells {...props} />
    </section>
  );
}

/** The width of an element, moving with it. */
function useWidth(frame: RefObject<HTMLElement | null>): number {
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const box = frame.current;
    if (box === null) return;
    const observer = new ResizeObserver(() => setWidth(box.clientWidth));
    observer.observe(box);
    return () => observer.disconnect();
  }, [frame]);
  return width;
}

/** Draws the map whenever it looks another way. */
function useDrawn(canvas: RefObject<HTMLCanvasElement | null>, look: MapLook): void {
  const drawn = useRef<MapLook | null>(null);
  useEffect(() => {
    if (canvas.current === null) return;
    drawMap(canvas.current, look, drawn.current);
    drawn.current = look;
  }, [canvas, look]);
}

function Cells(props: HeatMapViewProps) {
  const { domains, states, workloads, resource, colouring, legend, opened, selected, near, sought, onZoom, onHost, onSelect } = props;
  const frame = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const id = useId();
  const scheme = useScheme();
  const width = useWidth(frame);
  const [current, setCurrent] = useState(-1);
  const map = useMemo(() => heatMapOf(width > 0 ? domains : [], width, window.innerHeight), [domains, width]);
  useDrawn(canvas, { map, width, scheme, states, resource, colouring, legend, opened, selected, near, current, sought });
  const active = map.cells[current]?.domain;
  const shown = map.cells.find(({ domain }) => nameOf(domain) === opened);
  const onKeyDown = (event: KeyboardEvent) => {
    if (KEYS.has(event.key)) setCurrent(cellAfter(map, current, event.key));
    else if (event.key === "Enter" && active) onHost(nameOf(active));
    else if (event.key === "x" && active) onSelect(nameOf(active));
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const onPointerUp = (event: PointerEvent<HTMLElement>) => {
    const box = event.currentTarget.getBoundingClientRect();
    const index = cellAt(map, event.clientX - box.left, event.clientY - box.top);
    const cell = map.cells[index];
    if (!cell) return;
    const host = nameOf(cell.domain);
    setCurrent(index);
    if (event.ctrlKey || event.metaKey || event.shiftKey) onSelect(host);
    else onHost(host === opened ? "" : host);
  };
  return (
    <div ref={frame} className={styles.frame} data-placed="" style={{ height: map.height }}>
      <div
        className={styles.grid}
        role="grid"
        aria-multiselectable="true"
        tabIndex={0}
        aria-label={`Hosts by ${shortResource(resource)} in use`}
        aria-rowcount={map.cells.length}
        aria-activedescendant={active ? `${id}-cell` : undefined}
        onKeyDown={onKeyDown}
        onPointerUp={onPointerUp}
      >
        <canvas ref={canvas} className={styles.canvas} aria-hidden="true" />
        <div role="row" className="visually-hidden">
          <span role="gridcell" id={`${id}-cell`} aria-selected={active !== undefined && selected.has(nameOf(active))}>
            {active ? hostWords(active, stateOf(states, active), resource, isNear(active, near)) : "Arrow keys move by host, Page keys by rack, Home and End by block; x selects"}
          </span>
        </div>
      </div>
      <Labels labels={map.labels} {...{ onZoom, onHost }} />
      {areCards(domains) && workloads && <Cards map={map} workloads={workloads} />}
      {shown && <Shown key={`${opened} ${width}`} x={shown.x} y={shown.y} size={map.size} />}
    </div>
  );
}

/** The place of the host that is shown beside the map: it stays in sight where the panel makes the page narrower. */
function Shown({ x, y, size }: { x: number; y: number; size: number }) {
  const place = useRef<HTMLSpanElement>(null);
  useEffect(() => {
    // Some browsers answer with a promise, which is no function to be called in the end.
    place.current?.scrollIntoView({ block: "nearest" });
  }, []);
  return <span ref={place} className={styles.shown} data-shown="" style={{ left: x, top: y, width: size, height: size }} aria-hidden="true" />;
}

type LabelsProps = Pick<HeatMapViewProps, "onZoom" | "onHost"> & { labels: Label[] };

function Labels({ labels, onZoom, onHost }: LabelsProps) {
  return labels.map((label) => (
    <button
      key={label.path.join("/")}
      type="button"
      className={styles.label}
      style={{ left: label.x, top: label.y, maxWidth: label.width }}
      title={label.host === undefined ? `Show only ${label.words}` : label.words}
      onClick={() => (label.host === undefined ? onZoom(label.path) : onHost(label.host))}
    >
      {label.words}
    </button>
  ));
}

const MAX_LINES = 3;
const CARD_GAP = 8;

/** The workloads on each host, beside its cell. */
function Cards({ map: { cells, labels, size }, workloads: found }: { map: HeatMap; workloads: WorkloadsOnHost[] }) {
  const byHost = new Map(found.map(({ host, workloads }) => [host, workloads]));
  return cells.map(({ domain, x, y }, index) => {
    const workloads = byHost.get(nameOf(domain)) ?? [];
    const shown = workloads.length > MAX_LINES ? workloads.slice(0, MAX_LINES - 1) : workloads;
    const width = (labels[index]?.width ?? 0) - size - CARD_GAP;
    return (
      <ul key={domain.path.join("/")} className={styles.pods} style={{ left: x + size + CARD_GAP, top: y, width, maxHeight: size }} aria-label={`Workloads on ${nameOf(domain)}`}>
        {shown.map((workload) => (
          <li key={workload.key} title={`${workload.key}: ${hostWorkloadWords(workload)}`}>
            {workload.key.includes("/") ? <RouterLink to={workloadAddress(workload.key)}>{workload.key.slice(workload.key.indexOf("/") + 1)}</RouterLink> : workload.key}, {workload.pods} {workload.pods === 1 ? "pod" : "pods"}
          </li>
        ))}
        {shown.length < workloads.length && <li>{workloads.length - shown.length} more</li>}
        {workloads.length === 0 && <li>no workloads</li>}
      </ul>
    );
  });
}

function hostWords(host: Domain, state: RowState, resource: string, near: boolean): string {
  const all = state.allocatable[resource] ?? 0;
  const used = (state.used[resource] ?? 0) + (state.others[resource] ?? 0);
  const parts = [nameOf(host), host.path.at(-2), `${formatAmount(resource, used, all)} of ${formatAmount(resource, all)} ${shortResource(resource)}`, state.queue, stateWords(state).toLowerCase(), state.faulty > 0 ? "device errors" : "", near ? "near fit" : ""];
  return parts.filter(Boolean).join(", ");
}
