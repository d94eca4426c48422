// The rows of the log.
import { type Column, VirtualTable } from "@/components/ui/virtual-table";
import { FactBadge } from "@/components/ui/event-line";
import { ObjectName } from "@/components/ui/object-name";
import { RouterLink } from "@/components/ui/router-link";
import { Timestamp } from "@/components/ui/timestamp";
import type { Fact } from "@/lib/api/types";
import { addressOfStream, factDetail, subjectOf } from "@/lib/events";

import styles from "./events-page.module.css";

/** The object of a stream; of a long name the namespace is cut first. */
function Name({ stream }: { stream: string }) {
  const address = addressOfStream(stream);
  const name = <ObjectName name={subjectOf(stream)} />;
  return address === "" ? name : <RouterLink to={address} className={styles.name}>{name}</RouterLink>;
}

const COLUMNS: Column<Fact>[] = [
  { id: "position", header: "Position", width: "5rem", spare: true, end: true, cell: (fact) => <span className="number">#{fact.position}</span> },
  { id: "type", header: "Type", width: "12rem", narrow: "11rem", cell: (fact) => <FactBadge fact={fact} /> },
  {
    id: "stream",
    header: "Object",
    width: "minmax(9rem, 1.2fr)",
    narrow: "minmax(0, 1fr)",
    cell: (fact) => <Name stream={fact.stream} />,
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
