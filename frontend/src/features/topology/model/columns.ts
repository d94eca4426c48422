// The map of a topology: read from its columns, and changed by the rows that changed.
import type { TopologyMap } from "@/lib/api/types";

/** A domain, or a host where it has no children; what of it is used is in the state of its row. */
export interface Domain {
  row: number;
  path: string[];
  hosts: number;
  children: Domain[];
}

type Amounts = Record<string, number>;

/** What is told of a domain or host now; `ready` and `cordoned` count hosts, `faulty` those with errors of a device. */
export interface RowState {
  ready: number;
  cordoned: number;
  faulty: number;
  flavors: string[];
  /** The ClusterQueue that takes most of a host, empty where it is withheld; null without workloads. */
  queue: string | null;
  /** The highest priority on a host. */
  priority: number | null;
  allocatable: Amounts;
  used: Amounts;
  others: Amounts;
  free: Amounts;
}

export interface HostMap {
  /** Which log its position is of. */
  log: number;
  position: number;
  at: string;
  topology: string;
  resources: string[];
  /** Of the highest level; the same objects until domains come or go. */
  domains: Domain[];
  /** By row; the same objects until they change. */
  states: RowState[];
}

/** A map that was told whole. */
export function readMap(columns: TopologyMap, log: number): HostMap {
  const rows: Domain[] = columns.names.map((name, row) => ({ row, path: [name], hosts: 0, children: [] }));
  const domains: Domain[] = [];
  for (const domain of rows) {
    const parent = rows[columns.parents[domain.row] ?? -1];
    if (parent === undefined) domains.push(domain);
    else {
      domain.path = [...parent.path, ...domain.path];
      parent.children.push(domain);
    }
  }
  for (const domain of rows.toReversed()) {
    if (isHost(domain)) domain.hosts = 1;
    const parent = rows[columns.parents[domain.row] ?? -1];
    if (parent !== undefined) parent.hosts += domain.hosts;
  }
  const { position, at, topology, resources } = columns;
  return { log, position, at, topology, resources, domains, states: statesOf(columns) };
}

/** The map after an answer to what changed: all of it, or some rows. */
export function changedMap(before: HostMap, columns: TopologyMap): HostMap {
  const { rows, position, at } = columns;
  if (rows === null) return readMap(columns, before.log);
  const states = [...before.states];
  statesOf(columns).forEach((state, place) => (states[rows[place] ?? -1] = state));
  return { ...before, position, at, states: rows.length === 0 ? before.states : states };
}

function statesOf(columns: TopologyMap): RowState[] {
  const amounts = (of: Record<string, number[]>, place: number): Amounts => {
    const found: Amounts = {};
    for (const [resource, column] of Object.entries(of)) found[resource] = (column[place] ?? 0) * (columns.units[resource] ?? 1);
    return found;
  };
  return columns.ready.map((ready, place) => ({
    ready,
    cordoned: columns.cordoned[place] ?? 0,
    faulty: columns.faulty[place] ?? 0,
    flavors: columns.flavorSets[columns.flavors[place] ?? -1] ?? [],
    queue: columns.clusterQueues[columns.queues[place] ?? -1] ?? null,
    priority: columns.priorities[place] ?? null,
    allocatable: amounts(columns.allocatable, place),
    used: amounts(columns.used, place),
    others: amounts(columns.others, place),
    free: amounts(columns.free, place),
  }));
}

/** Whether a domain is a host. */
export function isHost({ children }: Domain): boolean {
  return children.length === 0;
}

/** The last name of a path. */
export function nameOf({ path }: Pick<Domain, "path">): string {
  return path.at(-1) ?? "";
}

const NOTHING: RowState = { ready: 0, cordoned: 0, faulty: 0, flavors: [], queue: null, priority: null, allocatable: {}, used: {}, others: {}, free: {} };

/** What is told of a domain. */
export function stateOf(states: readonly RowState[], { row }: Pick<Domain, "row">): RowState {
  return states[row] ?? NOTHING;
}
