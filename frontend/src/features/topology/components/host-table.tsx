// Hosts as rows of a table instead of the map, and what looks for hosts in both.
import { type ReactNode, useRef } from "react";

import { Button } from "@/components/ui/button";
import { TextField } from "@/components/ui/fields";
import { ListFrame } from "@/components/ui/layout";
import { PlainTable } from "@/components/ui/plain-table";
import type { TopologyDomain, TopologyMap } from "@/lib/api/types";
import { formatAmount, shortResource } from "@/lib/format/amounts";
import { useHotkeys } from "@/lib/hooks/use-hotkeys";
import { type UrlState, useUrl } from "@/lib/hooks/use-url";

import { isSought, matchesOf } from "../model/heat-map";
import { domainAt, hostsOf, stateWords } from "../model/map";
import styles from "./heat-map.module.css";

const MAX_TABLE_ROWS = 500;
const TABLE = "table";

/** Whether the address asks for the table. */
export function isTable(url: Pick<UrlState, "get">): boolean {
  return url.get("view") === TABLE;
}

/** The domains below the one that the address zooms into, or all. */
export function zoomedIn(map: TopologyMap, zoom: string): TopologyDomain[] {
  const zoomed = zoom === "" ? undefined : domainAt(map.domains, zoom.split("/"));
  return zoomed?.children ?? map.domains;
}

interface HostToolsProps {
  domains: TopologyDomain[];
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
    if (first?.host) url.change({ host: first.host.name }, "replace");
    else if (found[0]) url.change({ zoom: found[0].path.slice(0, -1).join("/") });
  };
  return (
    <form
      className={styles.tools}
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        openFirst();
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
  domains: TopologyDomain[];
  sought: string;
  resource: string;
  /** Hosts that an action will be about, by name. */
  selected: ReadonlySet<string>;
  onHost: (name: string) => void;
  onSelect: (name: string) => void;
}

export function HostTable({ domains, sought, resource, selected, onHost, onSelect }: HostTableProps) {
  const hosts = hostsOf(domains).filter((domain) => isSought(domain, sought));
  const unit = shortResource(resource);
  return (
    <>
      <ListFrame label="Table of hosts">
        <PlainTable label="Hosts" heads={["Selected", "Host", "Domain", "State", { words: `${unit} in use`, figure: true }, { words: `${unit} free`, figure: true }]}>
          {hosts.slice(0, MAX_TABLE_ROWS).map((domain) => (
            <tr key={domain.path.join("/")}>
              <td>
                <label className={styles.box}>
                  <input type="checkbox" aria-label={`Select ${domain.host?.name ?? ""}`} checked={selected.has(domain.host?.name ?? "")} onChange={() => domain.host && onSelect(domain.host.name)} />
                </label>
              </td>
              <th scope="row">
                <Button look="quiet" onClick={() => domain.host && onHost(domain.host.name)}>
                  {domain.host?.name}
                </Button>
              </th>
              <td>{domain.path.slice(0, -1).join(" / ")}</td>
              <td>{stateWords(domain)}</td>
              <td data-figure>{formatAmount(resource, domain.used[resource] ?? 0)}</td>
              <td data-figure>{formatAmount(resource, domain.free[resource] ?? 0)}</td>
            </tr>
          ))}
        </PlainTable>
      </ListFrame>
      {hosts.length > MAX_TABLE_ROWS && (
        <p className={styles.found}>
          The first {MAX_TABLE_ROWS} of {hosts.length.toLocaleString("en")} hosts; search to see others
        </p>
      )}
    </>
  );
}

function foundWords(count: number): string {
  return count === 0 ? "No host found" : `${count.toLocaleString("en")} ${count === 1 ? "host" : "hosts"}`;
}
