// The map of many hosts as small cells: where each stands, which cell is under a point, and the next one by keyboard.
import { type Domain, isHost, nameOf, type RowState } from "./columns";

export interface Cell {
  domain: Domain;
  x: number;
  y: number;
  /** The index of its rack among all, and of its block. */
  rack: number;
  block: number;
}

export interface Label {
  words: string;
  path: string[];
  /** The host that it names, in a domain of hosts alone. */
  host?: string;
  x: number;
  y: number;
  width: number;
}

export interface HeatMap {
  cells: Cell[];
  labels: Label[];
  /** The edge of a cell, without the gap beside it. */
  size: number;
  height: number;
}

/** Cells of these sizes are for few hosts, so that the map is no higher than its share of the window. */
const LARGE_SIZES = [44, 32, 24];
const LARGE_SHARE = 0.4;
const SIZES = [18, 14, 11, 8, 6, 5, 4, 3];
/** From this size on each rack has a line of its own behind its name. */
const NAMED_SIZE = 18;
const NAME_WIDTH = 64;
const GAP = 1;
const RACK_GAP = 6;
const BLOCK_GAP = 16;
/** Hosts of one rack are cards: a large cell with the names of its workloads beside it. */
const CARD_SIZE = 44;
const CARD_WIDTH = 208;
const LABEL_HEIGHT = 18;
const MIN_BLOCK_WIDTH = 96;

/** Whether only the hosts of one domain are shown, which have room for cards. */
export function areCards(domains: readonly Domain[]): boolean {
  return domains.length > 0 && domains.every(isHost);
}

/** The map in a width, with the largest cells with which it is at most so high; the smallest where none are small enough. */
export function heatMapOf(domains: Domain[], width: number, maxHeight: number): HeatMap {
  if (areCards(domains)) return placed(domains, width, CARD_SIZE);
  for (const size of LARGE_SIZES) {
    const large = placed(domains, width, size);
    if (large.height <= LARGE_SHARE * maxHeight) return large;
  }
  let last: HeatMap = { cells: [], labels: [], size: 0, height: 0 };
  for (const size of SIZES) {
    last = placed(domains, width, size);
    if (last.height <= maxHeight) return last;
  }
  return last;
}

function placed(domains: Domain[], width: number, size: number): HeatMap {
  const map: HeatMap = { cells: [], labels: [], size, height: 0 };
  const columns = Math.max(1, Math.min(domains.length, Math.floor((width + BLOCK_GAP) / (blockWidth(domains, size) + BLOCK_GAP))));
  const columnWidth = (width - (columns - 1) * BLOCK_GAP) / columns;
  const indent = size >= NAMED_SIZE && domains.some(({ children }) => children.some((child) => !isHost(child))) ? NAME_WIDTH : 0;
  const bottoms = Array.from({ length: columns }, () => 0);
  let rack = 0;
  [...domains].sort(byDomainName).forEach((domain, block) => {
    const column = block % columns;
    const [x, y] = [column * (columnWidth + BLOCK_GAP), bottoms[column] ?? 0];
    map.labels.push({ words: nameOf(domain), path: domain.path, x, y, width: columnWidth, ...(isHost(domain) && { host: nameOf(domain) }) });
    const first = x + indent;
    let [at, line] = [first, y + LABEL_HEIGHT];
    for (const group of racksOf(domain)) {
      // A rack begins beside the one before where it fits there whole and has no name, else on a line of its own.
      const whole = group.length * (size + GAP);
      if (at > first && (indent > 0 || at + whole > x + columnWidth)) [at, line] = [first, line + size + GAP];
      const path = group[0]?.path.slice(0, -1) ?? [];
      if (indent > 0) map.labels.push({ words: path.at(-1) ?? "", path, x, y: line + (size - LABEL_HEIGHT) / 2, width: indent - BLOCK_GAP / 2 });
      for (const host of group) {
        if (at + size > x + columnWidth) [at, line] = [first, line + size + GAP];
        map.cells.push({ domain: host, x: at, y: line, rack, block });
        at += size + GAP;
      }
      at += RACK_GAP;
      rack += 1;
    }
    bottoms[column] = line + size + BLOCK_GAP;
  });
  map.height = Math.max(0, ...bottoms);
  return map;
}

/** As wide as makes blocks about square, never too narrow for their names. */
function blockWidth(domains: Domain[], size: number): number {
  if (areCards(domains)) return CARD_WIDTH;
  const most = Math.max(1, ...domains.map(({ hosts }) => hosts));
  return Math.max(MIN_BLOCK_WIDTH, Math.ceil(Math.sqrt(most * 2)) * (size + GAP));
}

/** The hosts of a domain by their lowest domain, all in natural order. */
function racksOf(domain: Domain): Domain[][] {
  const children = [...domain.children].sort(byDomainName);
  if (isHost(domain)) return [[domain]];
  const hosts = children.filter(isHost);
  const racks = children.filter((child) => !isHost(child)).flatMap(racksOf);
  return hosts.length > 0 ? [hosts, ...racks] : racks;
}

const natural = new Intl.Collator("en", { numeric: true });

/** By name, block-2 before block-10. */
export function byDomainName(one: Domain, other: Domain): number {
  return natural.compare(nameOf(one), nameOf(other));
}

/** The cells of hosts that changed between two states of the same map. */
export function changedCells({ cells }: HeatMap, before: readonly RowState[], after: readonly RowState[]): Cell[] {
  return before === after ? [] : cells.filter(({ domain: { row } }) => before[row] !== after[row]);
}

/** The index of the cell at a point; -1 for the gaps. */
export function cellAt({ cells, size }: HeatMap, x: number, y: number): number {
  return cells.findIndex((cell) => x >= cell.x && x < cell.x + size + GAP && y >= cell.y && y < cell.y + size + GAP);
}

/** The cell that a key leads to: by cell, by rack or by block. */
export function cellAfter({ cells }: HeatMap, current: number, key: string): number {
  const from = cells[current];
  if (from === undefined) return cells.length > 0 ? 0 : -1;
  const firstWhere = (isWanted: (cell: Cell) => boolean) => {
    const found = cells.findIndex(isWanted);
    return found < 0 ? current : found;
  };
  switch (key) {
    case "ArrowRight":
      return Math.min(cells.length - 1, current + 1);
    case "ArrowLeft":
      return Math.max(0, current - 1);
    case "ArrowDown":
      return nearestInLine(cells, from, current, 1);
    case "ArrowUp":
      return nearestInLine(cells, from, current, -1);
    case "PageDown":
      return firstWhere(({ rack }) => rack === from.rack + 1);
    case "PageUp":
      return firstWhere(({ rack }) => rack === from.rack - 1);
    case "End":
      return firstWhere(({ block }) => block === from.block + 1);
    case "Home":
      return firstWhere(({ block }) => block === from.block - 1);
    default:
      return current;
  }
}

function nearestInLine(cells: Cell[], from: Cell, current: number, direction: 1 | -1): number {
  let best = current;
  let least = Infinity;
  cells.forEach((cell, index) => {
    const down = (cell.y - from.y) * direction;
    const distance = down * 2 + Math.abs(cell.x - from.x);
    if (down > 0 && distance < least) [best, least] = [index, distance];
  });
  return best;
}

/** Hosts with a text in their names, the shortest name first: a whole name comes before longer ones. */
export function matchesOf(hosts: Domain[], text: string): Domain[] {
  const sought = text.trim().toLowerCase();
  if (sought === "") return [];
  const found = hosts.filter((host) => nameOf(host).toLowerCase().includes(sought));
  return found.sort((one, other) => nameOf(one).length - nameOf(other).length || byDomainName(one, other));
}

/** Whether a host has a text in its name, or stands in a domain of that name. */
export function isSought(host: Domain, text: string): boolean {
  const sought = text.trim().toLowerCase();
  return sought === "" || nameOf(host).toLowerCase().includes(sought) || host.path.some((name) => name.toLowerCase() === sought);
}
