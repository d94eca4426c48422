// A domain of the map: a box with its children, or a host with its fill.
import { Ban, CircleAlert } from "lucide-react";
import { useEffect, useRef } from "react";

import { Button } from "@/components/ui/button";
import type { NearFit, TopologyDomain } from "@/lib/api/types";
import { formatAmount, formatShare, shortResource } from "@/lib/format/amounts";

import { nearWords } from "../model/fits";
import { type Colouring, type Colors, fillOf, isOfWorkloads, piecesOf } from "../model/map";
import styles from "./topology.module.css";

export interface DomainBoxProps {
  domain: TopologyDomain;
  resource: string;
  colouring: Colouring;
  legend: Colors;
  opened: string;
  /** Domains that come nearest to taking the chosen workload, by path. */
  near: Map<string, NearFit>;
  onZoom: (path: string[]) => void;
  onHost: (name: string) => void;
}

export function DomainBox(props: DomainBoxProps) {
  const { domain, resource, near, onZoom } = props;
  if (domain.host) return <HostCell {...props} />;
  const { children } = domain;
  const close = near.get(domain.path.join("/"));
  const holdsHosts = children.some((child) => child.host);
  return (
    <section className={styles.domain} data-near={close !== undefined} data-depth={Math.min(domain.path.length, 3)} aria-label={domain.path.join(" / ")}>
      <header className={styles.domainHead}>
        <Button look="quiet" className={styles.zoom} onClick={() => onZoom(domain.path)} hint={`Show only ${domain.path.join("/")}`}>
          {domain.path.at(-1)}
        </Button>
        <span className={styles.figures}>
          {formatAmount(resource, domain.free[resource] ?? 0, domain.allocatable[resource] ?? 0)} of {formatAmount(resource, domain.allocatable[resource] ?? 0)} free
        </span>
      </header>
      {close && <p className={styles.nearWords}>{nearWords(close)}</p>}
      <div className={styles.meter} role="img" aria-label={`${formatShare(fillOf(domain, resource))} of ${shortResource(resource)} used`}>
        <div className={styles.meterFill} style={{ width: `${fillOf(domain, resource) * 100}%` }} />
      </div>
      <div className={holdsHosts ? styles.hosts : styles.children}>
        {children.map((child) => (
          <DomainBox key={child.path.join("/")} {...props} domain={child} />
        ))}
      </div>
    </section>
  );
}

function HostCell({ domain, resource, colouring, legend, opened, near, onHost }: DomainBoxProps) {
  const { host } = domain;
  const isOpened = host?.name === opened;
  const cell = useRef<HTMLButtonElement>(null);
  // The panel makes the page narrower, which may move what was chosen out of sight.
  useEffect(() => {
    const main = isOpened && cell.current?.closest("main");
    if (!main) return;
    const width = new ResizeObserver(() => cell.current?.scrollIntoView({ block: "nearest" }));
    width.observe(main);
    return () => width.disconnect();
  }, [isOpened]);
  if (!host) return null;
  const used = (domain.used[resource] ?? 0) + (domain.others[resource] ?? 0);
  const state = host.cordoned ? ", cordoned" : host.ready ? "" : ", not ready";
  const all = domain.allocatable[resource] ?? 0;
  const free = formatAmount(resource, domain.free[resource] ?? 0, all);
  const whole = formatAmount(resource, all);
  const label = `${host.name}: ${formatAmount(resource, used, all)} of ${whole} ${shortResource(resource)} used, ${free} free${state}`;
  const othersShare = isOfWorkloads(colouring) ? fillOf({ ...domain, used: {} }, resource) : 0;
  return (
    <button
      ref={cell}
      type="button"
      className={`${styles.host ?? ""} ${isOpened ? (styles.openHost ?? "") : ""} ${state === "" ? "" : (styles.closedHost ?? "")}`}
      aria-label={label}
      aria-pressed={isOpened}
      data-near={near.has(domain.path.join("/"))}
      title={label}
      onClick={() => onHost(isOpened ? "" : host.name)}
    >
      <span className={styles.fill}>
        <span className={styles.others} style={{ height: `${othersShare * 100}%` }} />
        {piecesOf(domain, resource, colouring, legend).map((piece) => (
          <span key={piece.color} className={styles.piece} style={{ height: `${piece.share * 100}%`, background: `var(${piece.color})` }} />
        ))}
      </span>
      {host.cordoned && <Ban aria-hidden="true" />}
      {!host.cordoned && !host.ready && <CircleAlert aria-hidden="true" />}
      <span className={styles.free} aria-hidden="true">
        {free}
      </span>
    </button>
  );
}
