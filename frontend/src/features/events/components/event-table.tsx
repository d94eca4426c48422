// The rows of the log.
import { type Column, VirtualTable } from "@/components/ui/virtual-table";
import { FactBadge, Subject } from "@/components/ui/event-line";
import { Timestamp } from "@/components/ui/timestamp";
import type { Fact } from "@/lib/api/types";
import { factDetail } from "@/lib/events";

import styles from "./events-page.module.css";

const COLUMNS: Column<Fact>[] = [
  { id: "position", header: "Position", width: "5rem", spare: true, end: true, cell: (fact) => <span className="number">#{fact.position}</span> },
  { id: "type", header: "Type", width: "12rem", narrow: "11rem", cell: (fact) => <FactBadge fact={fact} /> },
  {
    id: "stream",
    header: "Object",
    width: "minmax(0, 1fr)",
    narrow: "minmax(0, 1fr)",
    cell: (fact) => <span className={styles.name}><Subject stream={fact.stream} /></span>,
  },
  {
    id: "detail",
    header: "Detail",
    width: "minmax(0, 3fr)",
    below: true,
    cell: (fact) => (
      <span className={styles.soft} title={factDetail(fact)}>
        {factDetail(fact)}
      </span>
    ),
  },
  { id: "actor", header: "Actor", width: "7rem", spare: true, cell: (fact) => <span className={styles.soft}>{fact.actor}</span> },
  { id: "at", header: "Time", width: "6rem", end: true, cell: (fact) => <Timestamp at={fact.at} /> },
];

export interface EventTableProps {
  facts: Fact[];
  opened: string;
  onOpen: (fact: Fact) => void;
  onEnd: () => void;
}

export function EventTable({ facts, ...rest }: EventTableProps) {
  return <VirtualTable label="Events, newest first" columns={COLUMNS} rows={facts} rowKey={(fact) => String(fact.position)} {...rest} />;
}
