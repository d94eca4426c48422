// Draws the map of hosts on a canvas: color says what, height how much, patterns the state.
import type { NearFit } from "@/lib/api/types";
import { formatAmount } from "@/lib/format/amounts";

import { type Domain, nameOf, type RowState, stateOf } from "../model/columns";
import { type Cell, changedCells, type HeatMap, isSought } from "../model/heat-map";
import { type Colouring, type Colors, fillOf, isOfWorkloads, pieceOf } from "../model/map";

export interface MapLook {
  map: HeatMap;
  width: number;
  /** The color scheme. */
  scheme: string;
  states: readonly RowState[];
  resource: string;
  colouring: Colouring;
  legend: Colors;
  opened: string;
  /** Hosts that an action will be about. */
  selected: ReadonlySet<string>;
  near: Map<string, NearFit>;
  /** The index of the cell the keyboard is at. */
  current: number;
  /** What hosts are looked for by; others are dimmed. */
  sought: string;
}

const DIM = 0.25;
const MARK = 2;
const MIN_DOT = 1.5;
/** Cells of this size have room for a number. */
const NUMBER_SIZE = 24;
const NUMBER_HEIGHT = 13;

/** Draws the cells that changed since the last time; all of them, some milliseconds for 10,000, where anything else did. */
export function drawMap(canvas: HTMLCanvasElement, look: MapLook, before: MapLook | null): void {
  const pen = canvas.getContext("2d");
  if (pen === null) return;
  const { map, width } = look;
  const color = colorsOf(canvas);
  if (before !== null && isSameButStates(before, look)) {
    for (const cell of changedCells(map, before.states, look.states)) {
      // Outlines reach beyond the cell, and are drawn again below.
      pen.clearRect(cell.x - 1, cell.y - 1, map.size + 2, map.size + 2);
      drawCell(pen, cell, look, color);
    }
  } else {
    const scale = window.devicePixelRatio || 1;
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(map.height * scale);
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, width, map.height);
    for (const cell of map.cells) drawCell(pen, cell, look, color);
  }
  map.cells.forEach((cell, index) => {
    const { domain } = cell;
    const isMarked = index === look.current || nameOf(domain) === look.opened || look.selected.has(nameOf(domain));
    if (isMarked) outline(pen, cell, map.size, color("--ink"));
    else if (isNear(domain, look.near)) outline(pen, cell, map.size, color("--accent"));
  });
}

function isSameButStates(one: MapLook, other: MapLook): boolean {
  const isSameLegend = one.legend.size === other.legend.size && [...one.legend].every(([group, color]) => other.legend.get(group) === color);
  const parts = ["map", "width", "scheme", "resource", "colouring", "opened", "selected", "near", "current", "sought"] as const;
  return isSameLegend && parts.every((part) => one[part] === other[part]);
}

function drawCell(pen: CanvasRenderingContext2D, cell: Cell, look: MapLook, color: (token: string) => string): void {
  const { domain, x, y } = cell;
  const { map: { size }, states, resource, colouring } = look;
  const host = stateOf(states, domain);
  pen.globalAlpha = isSought(domain, look.sought) ? 1 : DIM;
  pen.fillStyle = color("--surface");
  pen.fillRect(x, y, size, size);
  let bottom = y + size;
  const fill = (share: number, token: string) => {
    const height = Math.round(share * size);
    pen.fillStyle = color(token);
    pen.fillRect(x, bottom - height, size, height);
    bottom -= height;
  };
  if (isOfWorkloads(colouring)) fill(fillOf({ ...host, used: {} }, resource), "--idle-solid");
  const piece = pieceOf(host, resource, colouring, look.legend);
  if (piece) fill(piece.share, piece.color);
  if (size >= NUMBER_SIZE) freeNumber(pen, cell, host, look, color);
  pen.strokeStyle = color("--line-strong");
  pen.lineWidth = 1;
  pen.strokeRect(x + 0.5, y + 0.5, size - 1, size - 1);
  if (host.cordoned > 0) lines(pen, cell, size, color("--ink"), false);
  else if (host.ready === 0) lines(pen, cell, size, color(colouring === "health" ? "--surface" : "--bad"), true);
  if (host.faulty > 0) dot(pen, cell, size, color);
  pen.globalAlpha = 1;
}

/** A dot in the corner: errors of a device; a ring of the ground sets it off from every fill. */
function dot(pen: CanvasRenderingContext2D, { x, y }: Cell, size: number, color: (token: string) => string): void {
  const radius = Math.max(MIN_DOT, size / 8);
  for (const [token, wider] of [["--surface", 1], ["--bad", 0]] as const) {
    pen.fillStyle = color(token);
    pen.beginPath();
    pen.arc(x + size - radius - 1, y + radius + 1, radius + wider, 0, 2 * Math.PI);
    pen.fill();
  }
}

/** How much is free, as a number on the ground of the page, where a cell has room for it. */
function freeNumber(pen: CanvasRenderingContext2D, { x, y }: Cell, host: RowState, { resource, map: { size } }: MapLook, color: (token: string) => string): void {
  const words = formatAmount(resource, host.free[resource] ?? 0, host.allocatable[resource] ?? 0);
  pen.font = `11px ${getComputedStyle(pen.canvas).fontFamily}`;
  const width = pen.measureText(words).width + 2 * MARK;
  if (width > size - 2) return;
  pen.fillStyle = color("--surface");
  pen.fillRect(x + (size - width) / 2, y + size - NUMBER_HEIGHT - MARK, width, NUMBER_HEIGHT);
  pen.fillStyle = color("--ink");
  pen.textAlign = "center";
  pen.textBaseline = "middle";
  pen.fillText(words, x + size / 2, y + size - NUMBER_HEIGHT / 2 - MARK + 0.5);
}

/** The host itself or a domain above it comes near to taking the chosen workload. */
export function isNear({ path }: Domain, near: Map<string, NearFit>): boolean {
  return near.size > 0 && path.some((_, depth) => near.has(path.slice(0, depth + 1).join("/")));
}

/** Cordoned hosts have one diagonal, those that are not ready two. */
function lines(pen: CanvasRenderingContext2D, { x, y }: Cell, size: number, color: string, crossed: boolean): void {
  pen.strokeStyle = color;
  pen.lineWidth = size > 6 ? MARK : 1;
  pen.beginPath();
  pen.moveTo(x, y + size);
  pen.lineTo(x + size, y);
  if (crossed) {
    pen.moveTo(x, y);
    pen.lineTo(x + size, y + size);
  }
  pen.stroke();
}

function outline(pen: CanvasRenderingContext2D, { x, y }: Cell, size: number, color: string): void {
  pen.strokeStyle = color;
  pen.lineWidth = MARK;
  pen.strokeRect(x, y, size, size);
}

/** Color tokens as the canvas understands them, each looked up once. */
function colorsOf(canvas: HTMLCanvasElement): (token: string) => string {
  const known = new Map<string, string>();
  const probe = document.createElement("span");
  return (token) => {
    const found = known.get(token);
    if (found !== undefined) return found;
    probe.style.color = `var(${token})`;
    canvas.parentElement?.append(probe);
    const color = getComputedStyle(probe).color;
    probe.remove();
    known.set(token, color);
    return color;
  };
}
