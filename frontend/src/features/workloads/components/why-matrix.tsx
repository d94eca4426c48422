// The constraints that keep a workload pending: need, available, shortfall, and the workloads that use the rest.
import { Fragment } from "react";

import { RouterLink } from "@/components/ui/router-link";
import { type Head, PlainTable } from "@/components/ui/plain-table";
import type { Blocker } from "@/lib/api/types";
import { workloadAddress } from "@/lib/events";
import { levelWords } from "@/lib/format/levels";
import { formatAmount, shortResource } from "@/lib/format/amounts";

import styles from "./why-matrix.module.css";

const HEADS: Head[] = [
  "Constraint",
  { words: "Requested", figure: true },
  { words: "Available", figure: true },
  { words: "Shortfall", figure: true },
];

export function Matrix({ blockers }: { blockers: Blocker[] }) {
  return (
    <PlainTable label="Why it's pending" heads={HEADS}>
      {blockers.map((blocker, index) => (
        <tr key={index}>
          <th scope="row" className={styles.obstacle}>
            <span className={styles.reason}>{scopeOf(blocker)}</span>
            <span className={styles.message}>{blocker.message}</span>
            <Holders keys={blocker.heldBy ?? []} />
            <ExcludedHosts hosts={blocker.excludedHosts ?? {}} />
            <RefusedVictims refused={blocker.refused ?? []} />
          </th>
          <td data-figure>{figure(blocker, blocker.need)}</td>
          <td data-figure>{figure(blocker, blocker.have)}</td>
          <td data-figure className={blocker.shortBy ? styles.short : undefined}>
            {figure(blocker, blocker.shortBy)}
          </td>
        </tr>
      ))}
    </PlainTable>
  );
}

function scopeOf(blocker: Blocker): string {
  const resource = blocker.resource ? shortResource(blocker.resource) : "";
  const level = blocker.level ? levelWords(blocker.level) : "";
  const scope = [blocker.podSet === "main" ? "" : blocker.podSet, blocker.flavor, resource, level, blocker.domain].filter(Boolean).join(" · ");
  return scope === "" ? blocker.type : `${blocker.type}: ${scope}`;
}

function figure(blocker: Blocker, amount: number | null | undefined): string {
  if (amount === null || amount === undefined) return "—";
  return formatAmount(blocker.resource ?? "", amount, Math.max(blocker.need ?? 0, blocker.have ?? 0, blocker.shortBy ?? 0));
}

const SHOWN_HOLDERS = 4;

function Holders({ keys }: { keys: string[] }) {
  if (keys.length === 0) return null;
  return (
    <span className={styles.message}>
      In use by{" "}
      {keys.slice(0, SHOWN_HOLDERS).map((key, index) => (
        <Fragment key={key}>
          {index > 0 && ", "}
          {key.includes("/") ? <RouterLink to={workloadAddress(key)}>{key}</RouterLink> : key}
        </Fragment>
      ))}
      {keys.length > SHOWN_HOLDERS && <span title={keys.join("\n")}> and {keys.length - SHOWN_HOLDERS} more</span>}
    </span>
  );
}

function ExcludedHosts({ hosts }: { hosts: Record<string, number> }) {
  const entries = Object.entries(hosts);
  if (entries.length === 0) return null;
  return <span className={styles.message}>Excluded hosts: {entries.map(([rule, count]) => `${count} ${rule}`).join(", ")}.</span>;
}

function RefusedVictims({ refused }: { refused: NonNullable<Blocker["refused"]> }) {
  if (refused.length === 0) return null;
  return (
    <details className={styles.message}>
      <summary>{refused.length} {refused.length === 1 ? "candidate" : "candidates"} can't be preempted</summary>
      <ul>
        {refused.map(({ workload, rule }) => (
          <li key={workload}>
            <RouterLink to={workloadAddress(workload)}>{workload}</RouterLink> {rule}
          </li>
        ))}
      </ul>
    </details>
  );
}
