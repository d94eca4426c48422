// On a phone: each domain of the highest level as a row with a strip of its racks; one of them is shown below.
import type { CSSProperties } from "react";

import { formatAmountOf } from "@/lib/format/amounts";

import { type Domain, nameOf, type RowState, stateOf } from "../model/columns";
import { byDomainName } from "../model/heat-map";
import { fillOf } from "../model/map";
import styles from "./heat-map.module.css";

export interface BlockRowsProps {
  domains: Domain[];
  states: RowState[];
  /** The name of the domain that is shown below. */
  shown: string;
  resource: string;
  onShow: (name: string) => void;
}

export function BlockRows({ domains, states, shown, resource, onShow }: BlockRowsProps) {
  return (
    <ul className={styles.blocks} aria-label="Domains">
      {[...domains].sort(byDomainName).map((domain) => {
        const name = nameOf(domain);
        return (
          <li key={name}>
            <button type="button" aria-pressed={name === shown} onClick={() => onShow(name)}>
              <span className={styles.blockName}>{name}</span>
              <span className={styles.strip} aria-hidden="true">
                {[...domain.children].sort(byDomainName).map((rack) => (
                  <span key={rack.path.join("/")} style={{ "--used": fillOf(stateOf(states, rack), resource) } as CSSProperties} />
                ))}
              </span>
              <span className="number">{formatAmountOf(resource, stateOf(states, domain).free[resource] ?? 0)} free</span>
            </button>
          </li>
        );
      })}
    </ul>
  );
}
