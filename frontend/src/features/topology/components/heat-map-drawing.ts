// Draws the map of hosts on a canvas: color says what, height how much, patterns the state.
import type { NearFit, TopologyDomain } from "@/lib/api/types";
import { formatAmount } from "@/lib/format/amounts";

import type { Cell, HeatMap } from "../model/heat-map";
import { type Colouring, type Colors, fillOf, isOfWorkloads, piecesOf } from "../model/map";

export interface MapLook {
  resource: string;
  colouring: Colouring;
  legend: Colors;
  opened: string;
  /** Hosts that an action will be about. */
  selected: ReadonlySet<string>;
  near: Map<string, NearFit>;
  /** The index of the cell the keyboard is at. */
  current: number;
  isDim: (domain: TopologyDomain) => boolean;
}

const DIM = 0.25;
const MARK = 2;
/** Cells of this size have room for a number. */
const NUMBER_SIZE = 24;
const NUMBER_HEIGHT = 13;

/** Draws everything anew; 10,000 cells take some milliseconds. */
export function drawMap(canvas: HTMLCanvasElement, map: HeatMap, width: number, look: MapLook): void {
  const scale = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * scale);
  canvas.height = Math.round(map.height * scale);
  const pen = canvas.getContext("2d");
  if (pen === null) return;
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  pen.clearRect(0, 0, width, map.height);
  const color = colorsOf(canvas);
  map.cells.forEach((cell, index) => {
    pen.globalAlpha = look.isDim(cell.domain) ? DIM : 1;
    drawCell(pen, cell, map.size, look, color);
    if (index === look.current || cell.domain.host?.name === look.opened || look.selected.has(cell.domain.host?.name ?? "")) outline(pen, cell, map.size, color("--ink"));
  });
  pen.globalAlpha = 1;
}

function drawCell(pen: CanvasRenderingContext2D, cell: Cell, size: number, look: MapLook, color: (token: string) => string): void {
  const { domain, x, y } = cell;
  pen.fillStyle = color("--surface");
  pen.fillRect(x, y, size, size);
  let bottom = y + size;
  const fill = (share: number, token: string) => {
    const height = Math.round(share * size);
    pen.fillStyle = color(token);
    pen.fillRect(x, bottom - height, size, height);
    bottom -= height;
  };
  if (isOfWorkloads(look.colouring)) fill(fillOf({ ...domain, used: {} }, look.resource), "--idle-solid");
  for (const piece of piecesOf(domain, look.resource, look.colouring, look.legend)) fill(piece.share, piece.color);
  if (size >= NUMBER_SIZE) freeNumber(pen, cell, size, look, color);
  pen.strokeStyle = color("--line-strong");
  pen.lineWidth = 1;
  pen.strokeRect(x + 0.5, y + 0.5, size - 1, size - 1);
  if (domain.host?.cordoned) lines(pen, cell, size, color("--ink"), false);
  else if (domain.host && !domain.host.ready) lines(pen, cell, size, color(look.colouring === "health" ? "--surface" : "--bad"), true);
  if (isNear(domain, look.near)) outline(pen, cell, size, color("--accent"));
}

/** How much is free, as a number on the ground of the page, where a cell has room for it. */
function freeNumber(pen: CanvasRenderingContext2D, { domain, x, y }: Cell, size: number, { resource }: MapLook, color: (token: string) => string): void {
  const words = formatAmount(resource, domain.free[resource] ?? 0, domain.allocatable[resource] ?? 0);
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
export function isNear({ path }: TopologyDomain, near: Map<string, NearFit>): boolean {
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
