// The victims of a round on a phone, where the ledger has no column for them: what each lost, how it stands, and the refused candidates.
import { Modal } from "@/components/ui/modal";
import { ObjectName } from "@/components/ui/object-name";
import { RouterLink } from "@/components/ui/router-link";
import type { Round } from "@/lib/api/types";
import { workloadAddress } from "@/lib/events";

import { costWords } from "../model/ledger";
import { outcomeWords, stageWords, titleOf } from "../model/rounds";
import styles from "./preemptions.module.css";

export function VictimsSheet({ round, onClose }: { round: Round; onClose: () => void }) {
  const refused = round.refused ?? [];
  return (
    <Modal sheet open title={titleOf(round)} words={outcomeWords(round)} onClose={onClose}>
      <ul className={styles.sheet} aria-label="Victims">
        {round.victims.map((victim) => (
          <Candidate
            key={victim.workload}
            workload={victim.workload}
            words={`${victim.clusterQueue}, priority ${victim.priority}, ${victim.reason}`}
            figure={costWords({ ...round, victims: [victim] })}
            state={stageWords(victim)}
          />
        ))}
      </ul>
      {refused.length > 0 && (
        <>
          <h3>Refused {refused.length}</h3>
          <ul className={styles.sheet} aria-label="Refused candidates">
            {refused.map(({ workload, rule }) => (
              <Candidate key={workload} workload={workload} words={rule} />
            ))}
          </ul>
        </>
      )}
      <div className={styles.sheetFoot}>
        <RouterLink to={`/preemptions/${encodeURIComponent(round.id)}`}>Open this preemption</RouterLink>
      </div>
    </Modal>
  );
}

function Candidate({ workload, words, figure, state }: { workload: string; words: string; figure?: string; state?: string }) {
  return (
    <li>
      <RouterLink to={workloadAddress(workload)} className={styles.sheetName} aria-label={workload}>
        <ObjectName name={workload} />
      </RouterLink>
      <span className="number">{figure}</span>
      <span className={styles.soft}>{words}</span>
      <span className={styles.soft}>{state}</span>
    </li>
  );
}
