// The rows of the log: events, or groups of them that open in place.
import { ChevronDown, ChevronRight } from "lucide-react";
import { useMemo } from "react";

import { FactBadge } from "@/components/ui/event-line";
import { ObjectName } from "@/components/ui/object-name";
import { RouterLink } from "@/components/ui/router-link";
import { Timestamp } from "@/components/ui/timestamp";
import { type Column, VirtualTable } from "@/components/ui/virtual-table";
import type { Fact } from "@/lib/api/types";
import { addressOfStream, factDetail, subjectOf } from "@/lib/events";

import { correlationWords, type EventRow, groupDetail, groupWords, objectsOf } from "../model/groups";
import styles from "./events-page.module.css";

export interface EventTableProps {
  rows: EventRow[];
  /** The keys of the groups that show their events. */
  open: ReadonlySet<string>;
  opened: string;
  /** Columns beside the usual ones. */
  extra: readonly string[];
  onOpen: (row: EventRow) => void;
  onEnd: () => void;
}

/** Columns that are off until they are chosen. */
export const EXTRA_COLUMNS = [
  { id: "correlation", words: "Correlation" },
  { id: "position", words: "Position" },
] as const;

export function EventTable({ rows, open, extra, onOpen, ...rest }: EventTableProps) {
  const columns = useMemo(() => [...columnsOf(open, onOpen), ...EXTRAS.filter(({ id }) => extra.includes(id))], [open, extra, onOpen]);
  return <VirtualTable label="Events, newest first" columns={columns} rows={rows} rowKey={({ key }) => key} onOpen={onOpen} {...rest} />;
}

function columnsOf(open: ReadonlySet<string>, onOpen: (row: EventRow) => void): Column<EventRow>[] {
  return [
    { id: "at", header: "Time", width: "6.5rem", cell: ({ fact }) => <Timestamp at={fact.at} /> },
    { id: "type", header: "Event", width: "16rem", narrow: "minmax(0, 1.6fr)", cell: (row) => <What row={row} isOpen={open.has(row.key)} onOpen={onOpen} /> },
    { id: "stream", header: "Object", width: "minmax(9rem, 1.2fr)", narrow: "minmax(0, 1fr)", cell: ({ fact, group }) => <About stream={fact.stream} objects={group ? objectsOf(group) : 1} /> },
    { id: "detail", header: "Detail", width: "minmax(0, 3fr)", below: true, cell: (row) => <Detail fact={row.fact} words={row.group ? groupDetail(row.group) : factDetail(row.fact)} /> },
    { id: "actor", header: "Actor", width: "7rem", spare: true, cell: ({ fact }) => <span className={styles.soft}>{fact.actor}</span> },
  ];
}

const EXTRAS: Column<EventRow>[] = [
  { id: "correlation", header: "Correlation", width: "8rem", cell: ({ fact, group }) => <Correlation fact={fact} count={group?.length} /> },
  { id: "position", header: "Position", width: "5.5rem", end: true, cell: ({ fact }) => <span className="number">{fact.position}</span> },
];

/** Leads to all events of the same cause. */
function Correlation({ fact, count }: { fact: Fact; count: number | undefined }) {
  const words = correlationWords(fact);
  if (!fact.correlation) return words;
  return (
    <RouterLink className={styles.name} to={`/events?correlation=${encodeURIComponent(fact.correlation)}`} title={fact.correlation}>
      {count === undefined ? words : `${count} events`}
    </RouterLink>
  );
}

function What({ row, isOpen, onOpen }: { row: EventRow; isOpen: boolean; onOpen: (row: EventRow) => void }) {
  const { fact, group, isInside } = row;
  if (group === undefined) {
    return (
      <span className={isInside ? styles.inside : undefined}>
        <FactBadge fact={fact} />
      </span>
    );
  }
  const words = groupWords(group);
  return (
    <button type="button" className={styles.fold} aria-expanded={isOpen} aria-label={`${isOpen ? "Collapse" : "Expand"} ${words}: ${group.length} events`} onClick={() => onOpen(row)}>
      {isOpen ? <ChevronDown aria-hidden="true" /> : <ChevronRight aria-hidden="true" />}
      {words}: {group.length} events
    </button>
  );
}

function About({ stream, objects }: { stream: string; objects: number }) {
  return objects === 1 ? <Name stream={stream} /> : <span className={styles.soft}>{objects} objects</span>;
}

/** The object of a stream; of a long name the namespace is cut first. */
function Name({ stream }: { stream: string }) {
  const address = addressOfStream(stream);
  const name = <ObjectName name={subjectOf(stream)} />;
  return address === "" ? name : <RouterLink to={address} aria-label={subjectOf(stream)} className={styles.name}>{name}</RouterLink>;
}

/** On a phone time and actor stand on this second line, as they have no columns there. */
function Detail({ fact, words }: { fact: Fact; words: string }) {
  return (
    <span className={styles.soft} title={words}>
      <span className={styles.when}>
        <Timestamp at={fact.at} />, {fact.actor}
      </span>
      {words}
    </span>
  );
}
