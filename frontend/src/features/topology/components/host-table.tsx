// Hosts as rows of a table instead of the map, and what looks for hosts in both.
import { type ReactNode, useMemo, useRef } from "react";

import { Button } from "@/components/ui/button";
import { TextField } from "@/components/ui/fields";
import { ListFrame } from "@/components/ui/layout";
import { type Column, type Selection, VirtualTable } from "@/components/ui/virtual-table";
import { formatAmount, shortResource } from "@/lib/format/amounts";
import { useHotkeys } from "@/lib/hooks/use-hotkeys";
import { type UrlState, useUrl } from "@/lib/hooks/use-url";

import { type Domain, type HostMap, nameOf, type RowState, stateOf } from "../model/columns";
import { byDomainName, isSought, matchesOf } from "../model/heat-map";
import { domainAt, hostsOf, stateWords } from "../model/map";
import styles from "./heat-map.module.css";

const TABLE = "table";

/** Whether the address asks for the table. */
export function isTable(url: Pick<UrlState, "get">): boolean {
  return url.get("view") === TABLE;
}

/** The domains below the one that the address zooms into, or all. */
export function zoomedIn(map: HostMap, zoom: string): Domain[] {
  const zoomed = zoom === "" ? undefined : domainAt(map.domains, zoom.split("/"));
  return zoomed?.children ?? map.domains;
}

interface HostToolsProps {
  domains: Domain[];
  sought: string;
  onSought: (text: string) => void;
  /** What is done to selected hosts. */
  children: ReactNode;
}

/** Looks for hosts by name, acts on those that are selected, and shows them as a table or on the map. */
export function HostTools({ domains, sought, onSought, children }: HostToolsProps) {
  const url = useUrl();
  const search = useRef<HTMLInputElement>(null);
  const turn = () => url.change({ view: isTable(url) ? "" : TABLE }, "replace");
  useHotkeys({ "/": () => search.current?.focus(), t: turn });
  const found = hostsOf(domains).filter((domain) => isSought(domain, sought));
  const openFirst = () => {
    const [first] = matchesOf(found, sought);
    // On the map the rack of the host is zoomed into; Escape leads back.
    if (first) url.change({ host: nameOf(first), ...(!isTable(url) && { zoom: first.path.slice(0, -1).join("/") }) });
    else if (found[0]) url.change({ zoom: found[0].path.slice(0, -1).join("/") });
  };
  return (
    <form
      className={styles.tools}
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        openFirst();
        // Keys go on where the host is: arrows walk from there, Escape closes and zooms out.
        document.querySelector<HTMLElement>('main [role="grid"]')?.focus();
      }}
    >
      <TextField ref={search} label="Find host or rack" type="search" value={sought} onChange={(event) => onSought(event.target.value)} />
      <span className={styles.found} role="status">
        {sought.trim() !== "" && foundWords(found.length)}
      </span>
      {children}
      <Button aria-pressed={isTable(url)} aria-keyshortcuts="t" onClick={turn}>
        {isTable(url) ? "Map" : "Table"}
      </Button>
    </form>
  );
}

export interface HostTableProps {
  domains: Domain[];
  states: RowState[];
  sought: string;
  resource: string;
  /** Hosts that an action will be about, by name. */
  selected: ReadonlySet<string>;
  onHost: (name: string) => void;
  onSelect: (name: string) => void;
}

export function HostTable({ domains, states, sought, resource, selected, onHost, onSelect }: HostTableProps) {
  const hosts = useMemo(() => hostsOf(domains).filter((domain) => isSought(domain, sought)).sort(byDomainName), [domains, sought]);
  const columns = useMemo(() => columnsOf(resource, states), [resource, states]);
  const selection = useMemo(() => Object.fromEntries([...selected].map((name) => [name, true as const])), [selected]);
  const onSelection = (next: Selection) => {
    for (const name of hosts.map(nameOf)) if ((next[name] ?? false) !== selected.has(name)) onSelect(name);
  };
  return (
    <ListFrame label="Table of hosts">
      <VirtualTable label="Hosts" columns={columns} rows={hosts} rowKey={nameOf} onOpen={(domain) => onHost(nameOf(domain))} selection={selection} onSelection={onSelection} />
    </ListFrame>
  );
}

function columnsOf(resource: string, states: RowState[]): Column<Domain>[] {
  const unit = shortResource(resource);
  const amount = (id: string, header: string, of: (state: RowState) => number | undefined): Column<Domain> => ({
    id,
    header,
    width: "7rem",
    narrow: "5rem",
    end: true,
    cell: (domain) => <span className="number">{formatAmount(resource, of(stateOf(states, domain)) ?? 0)}</span>,
  });
  return [
    { id: "host", header: "Host", width: "minmax(0, 1.2fr)", narrow: "minmax(0, 1fr)", cell: nameOf },
    { id: "domain", header: "Domain", width: "minmax(0, 1.4fr)", spare: true, cell: ({ path }) => path.slice(0, -1).join(" / ") },
    { id: "state", header: "State", width: "7rem", narrow: "6rem", cell: (domain) => stateWords(stateOf(states, domain)) },
    amount("used", `${unit} in use`, ({ used }) => used[resource]),
    amount("free", `${unit} free`, ({ free }) => free[resource]),
  ];
}

function foundWords(count: number): string {
  return count === 0 ? "No host found" : `${count.toLocaleString("en")} ${count === 1 ? "host" : "hosts"}`;
}
