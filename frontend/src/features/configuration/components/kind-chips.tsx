// The kinds that are configured, each with how many objects there are of it; a press lists them.
import { useQuery } from "@tanstack/react-query";
import { MoreHorizontal } from "lucide-react";

import { Button } from "@/components/ui/button";
import { Menu } from "@/components/ui/menu";
import { PHONE, TIGHT, useMedia } from "@/lib/hooks/use-media";

import { countsQuery, type Kind, KINDS } from "../api/objects";
import { chipsOf, chipWords } from "../model/kinds";
import styles from "./configuration.module.css";

const NAMES = Object.keys(KINDS) as Kind[];
/** How many chips stand in one line beside the title, or below it on a phone. */
const ROOM = { wide: 8, tight: 4, phone: 3 };

export function KindChips({ chosen, onChoose }: { chosen: Kind; onChoose: (kind: Kind) => void }) {
  const counts = useQuery(countsQuery).data;
  const [isPhone, isTight] = [useMedia(PHONE), useMedia(TIGHT)];
  const { chips, others } = chipsOf(NAMES, chosen, isPhone ? ROOM.phone : isTight ? ROOM.tight : ROOM.wide);
  const count = (kind: Kind) => <span className="number">{counts?.get(kind)?.toLocaleString("en") ?? "—"}</span>;
  return (
    <div className={styles.chips} role="group" aria-label="Kinds">
      {chips.map((kind) => (
        <Button key={kind} className={styles.chip} title={kind} aria-pressed={kind === chosen} onClick={() => onChoose(kind)}>
          <span>{chipWords(kind)}</span>
          {count(kind)}
        </Button>
      ))}
      <Menu
        heading="Other kinds"
        trigger={
          <Button shape="icon" aria-label="Other kinds">
            <MoreHorizontal aria-hidden="true" />
          </Button>
        }
        items={others.map((kind) => ({
          key: kind,
          words: (
            <span className={styles.otherKind}>
              {kind} {count(kind)}
            </span>
          ),
          onSelect: () => onChoose(kind),
        }))}
      />
    </div>
  );
}
