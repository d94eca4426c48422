// A victim of a round: what it loses and frees, and how far its eviction has come.
import { CircleCheck, Hourglass, Undo2 } from "lucide-react";

import { Badge, type Tone } from "@/components/ui/badge";
import type { Head } from "@/components/ui/plain-table";
import { PhaseBadge } from "@/components/ui/phase-badge";
import { RouterLink } from "@/components/ui/router-link";
import type { RoundVictim } from "@/lib/api/types";
import { workloadAddress } from "@/lib/events";
import { ruleWords } from "@/lib/format/rules";
import { formatAbsolute, formatDuration } from "@/lib/format/times";
import { useNow } from "@/lib/hooks/use-now";

import { costWords } from "../model/ledger";
import { countdownWords, freedWords, podsWords, stageWords } from "../model/rounds";
import styles from "./preemptions.module.css";

const OVER: readonly string[] = ["Released", "Cancelled", "LeftLater"];

export const VICTIM_HEADS: readonly Head[] = ["Workload", { words: "Priority", figure: true, spare: true }, { words: "Run time", figure: true, spare: true }, { words: "Lost", figure: true, spare: true }, { words: "Freed", figure: true, spare: true }, "Eviction", "Now"];

const TONES: Record<string, Tone> = { Released: "good", Cancelled: "idle", LeftLater: "idle", Acknowledged: "move", Forced: "bad", Stalled: "hold" };

export function VictimRow({ victim }: { victim: RoundVictim }) {
  return (
    <tr>
      <th scope="row">
        <RouterLink to={workloadAddress(victim.workload)}>{victim.workload}</RouterLink>
        <div className={styles.soft}>
          in {victim.clusterQueue}, {podsWords(victim)}; {ruleWords(victim.reason)}
        </div>
      </th>
      <td data-figure data-spare>
        {victim.protection ?? victim.priority}
        {(victim.violates ?? []).length > 0 && <span className={styles.warning}> violates {victim.violates?.join(", ")}</span>}
      </td>
      <td data-figure data-spare>
        {formatDuration(victim.runningSeconds)}
      </td>
      <td data-figure data-spare>
        {costWords({ victims: [victim] })}
      </td>
      <td data-figure data-spare title={freedWords([victim])}>
        {freedWords([victim]).split(",")[0]}
      </td>
      <td className={styles.stage}>
        <Badge tone={TONES[victim.stage] ?? "wait"} icon={victim.stage === "Released" || victim.stage === "LeftLater" ? CircleCheck : victim.stage === "Cancelled" ? Undo2 : Hourglass}>
          {stageWords(victim)}
        </Badge>
        {victim.mode === "Soft" && !OVER.includes(victim.stage) && (
          <span className={styles.soft}>
            {" "}
            {victim.handler && `by ${victim.handler}, `}
            {victim.deadlineAt && <Countdown until={victim.deadlineAt} />}
            {victim.note && `: ${victim.note}`}
          </span>
        )}
      </td>
      <td>{victim.phase ? <PhaseBadge phase={victim.phase} /> : "—"}</td>
    </tr>
  );
}

/** How long a victim still has to save its work, counting down. */
function Countdown({ until }: { until: string }) {
  const now = useNow();
  return (
    <time className="number" dateTime={until} title={formatAbsolute(until)}>
      {countdownWords(until, now)}
    </time>
  );
}
