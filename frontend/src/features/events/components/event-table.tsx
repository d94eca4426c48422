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

import { correlationWords, countWords, type EventRow, type Group, groupDetail, groupWords } from "../model/groups";
import styles from "./events-page.module.css";

type OpenGroups = Pick<ReadonlyMap<string, unknown>, "has">;

export interface EventTableProps {
  rows: EventRow[];
  /** The keys of the groups that show their events. */
  open: OpenGroups;
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

/** Those that a list of them names. */
export function extraColumns(text: string): string[] {
  return text.split(",").filter((id) => EXTRA_COLUMNS.some((column) => column.id === id));
}

export function EventTable({ rows, open, extra, onOpen, ...rest }: EventTableProps) {
  const columns = useMemo(() => [...columnsOf(open, onOpen), ...EXTRAS.filter(({ id }) => extra.includes(id))], [open, extra, onOpen]);
  return <VirtualTable label="Events, newest first" columns={columns} rows={rows} rowKey={({ key }) => key} whole={({ left }) => left !== undefined && <span className={styles.left}>{left} in this group. Open to list them</span>} onOpen={onOpen} {...rest} />;
}

function columnsOf(open: OpenGroups, onOpen: (row: EventRow) => void): Column<EventRow>[] {
  return [
    { id: "at", header: "Time", width: "6.5rem", cell: ({ fact }) => <Timestamp at={fact.at} /> },
    { id: "type", header: "Event", width: "16rem", narrow: "minmax(0, 1.6fr)", cell: (row) => <What row={row} isOpen={open.has(row.key)} onOpen={onOpen} /> },
    { id: "stream", header: "Object", width: "minmax(9rem, 1.2fr)", narrow: "minmax(0, 1fr)", cell: ({ fact, group }) => <About stream={fact.stream} objects={group?.objects ?? 1} /> },
    { id: "detail", header: "Detail", width: "minmax(0, 3fr)", below: true, cell: (row) => <Detail fact={row.fact} words={row.group ? groupDetail(row.group) : factDetail(row.fact)} /> },
    { id: "actor", header: "Actor", width: "7rem", spare: true, cell: ({ fact }) => <span className={styles.soft}>{fact.actor}</span> },
  ];
}

const EXTRAS: Column<EventRow>[] = [
  { id: "correlation", header: "Correlation", width: "8rem", cell: ({ fact, group }) => <Correlation fact={fact} group={group} /> },
  { id: "position", header: "Position", width: "5.5rem", end: true, cell: ({ fact }) => <span className="number">{fact.position}</span> },
];

/** Leads to all events of the same cause. */
function Correlation({ fact, group }: { fact: Fact; group: Group | undefined }) {
  const words = correlationWords(fact);
  if (!fact.correlation) return words;
  return (
    <RouterLink className={styles.name} to={`/events?correlation=${encodeURIComponent(fact.correlation)}`} title={fact.correlation}>
      {group === undefined ? words : countWords(group)}
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
  const words = `${groupWords(group)}: ${countWords(group)}`;
  return (
    <button type="button" className={styles.fold} aria-expanded={isOpen} aria-label={`${isOpen ? "Collapse" : "Expand"} ${words}`} onClick={() => onOpen(row)}>
      {isOpen ? <ChevronDown aria-hidden="true" /> : <ChevronRight aria-hidden="true" />}
      {words}
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
