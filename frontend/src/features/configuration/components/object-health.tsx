// The objects of a kind before one is chosen, each with its warnings and its last change.
import { useQuery } from "@tanstack/react-query";
import { CircleAlert, CircleCheck, Info } from "lucide-react";

import { Badge } from "@/components/ui/badge";
import { ListFrame } from "@/components/ui/layout";
import { PlainTable } from "@/components/ui/plain-table";
import { RouterLink } from "@/components/ui/router-link";
import { Timestamp } from "@/components/ui/timestamp";
import { configurationAddress } from "@/lib/events";

import { adviceQuery, type Kind, lastChangesQuery } from "../api/objects";
import { keyOf, type Manifest } from "../model/documents";
import { type Health, type ObjectState, statesOf } from "../model/health";
import styles from "./configuration.module.css";

const LOOKS: Record<Health["severity"], { tone: "good" | "wait" | "idle"; icon: typeof Info }> = {
  none: { tone: "good", icon: CircleCheck },
  warning: { tone: "wait", icon: CircleAlert },
  note: { tone: "idle", icon: Info },
};

export function ObjectHealth({ kind, items }: { kind: Kind; items: Manifest[] }) {
  const advice = useQuery(adviceQuery).data;
  const changes = useQuery(lastChangesQuery(kind)).data;
  if (items.length === 0) return null;
  const states = statesOf(kind, items.map(keyOf), advice?.items, changes?.items);
  return (
    <ListFrame label={`Health of every ${kind}`}>
      <PlainTable label={`Health of every ${kind}`} heads={[kind, "Health", { words: "Last change", spare: true }, "By"]}>
        {states.map((state) => (
          <Row key={state.key} kind={kind} state={state} isKnown={advice !== undefined} />
        ))}
      </PlainTable>
    </ListFrame>
  );
}

function Row({ kind, state: { key, health, change }, isKnown }: { kind: Kind; state: ObjectState; isKnown: boolean }) {
  const { tone, icon } = LOOKS[health.severity];
  return (
    <tr>
      <th scope="row">
        <RouterLink className={styles.objectLink} to={configurationAddress(kind, key)}>
          {key}
        </RouterLink>
      </th>
      <td title={health.messages.join("\n")}>
        {isKnown && (
          <Badge tone={tone} icon={icon}>
            {health.words}
          </Badge>
        )}
      </td>
      <td data-spare>{change ? <Timestamp at={change.at} /> : "—"}</td>
      <td>
        {change ? change.by : "—"}
        {change?.reason && <q className={styles.quiet}>{change.reason}</q>}
      </td>
    </tr>
  );
}
