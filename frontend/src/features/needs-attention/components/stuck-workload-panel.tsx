// One stuck workload beside the list: cause, requeues, limits, and the effect of the action.
import { useQuery } from "@tanstack/react-query";
import { Maximize2 } from "lucide-react";

import { RouterLink } from "@/components/ui/router-link";
import { Timestamp } from "@/components/ui/timestamp";
import { PhaseBadge } from "@/components/ui/phase-badge";
import { SidePanel } from "@/components/ui/side-panel";
import { View } from "@/components/ui/view";
import type { StuckWorkload, Phase } from "@/lib/api/types";
import { workloadAddress } from "@/lib/events";

import { stuckWorkloadQuery } from "../api/stuck-workloads";
import { ACTION_WORDS, type BulkActionVerb, causeWords, limitWords } from "../model/stuck-workloads";
import styles from "./needs-attention.module.css";

export function StuckWorkloadPanel({ workloadKey, onClose }: { workloadKey: string; onClose: () => void }) {
  const found = useQuery(stuckWorkloadQuery(workloadKey));
  return (
    <SidePanel
      label={`Workload ${workloadKey}`}
      onClose={onClose}
      title={
        <RouterLink to={workloadAddress(workloadKey)} className={styles.panelTitle}>
          {workloadKey} <Maximize2 aria-label="Open the full page" />
        </RouterLink>
      }
    >
      <View query={found}>{(one) => <StuckWorkloadFacts found={one} />}</View>
    </SidePanel>
  );
}

function StuckWorkloadFacts({ found }: { found: StuckWorkload }) {
  const verb = ACTION_WORDS[found.helps as BulkActionVerb].verb;
  return (
    <>
      <div className={styles.row}>
        <PhaseBadge phase={found.phase as Phase} />
        <span className={styles.soft}>{causeWords(found.cause)}</span>
      </div>
      <p className={styles.sentence}>{found.sentence}</p>
      <dl className={styles.facts}>
        <dt>Since</dt>
        <dd>
          <Timestamp at={found.since} /> {found.by && `by ${found.by}`}
        </dd>
        <dt>Requeues</dt>
        <dd>{found.attempts ?? 0}</dd>
        <dt>Total evictions</dt>
        <dd>{found.evictions ?? 0}</dd>
        {found.nextTryAt && <Instant term="Next retry" at={found.nextTryAt} />}
        {found.givesUpAt && <Instant term="Deadline" at={found.givesUpAt} />}
        {(found.limits ?? []).map((limit) => (
          <Limit key={limit.field} limit={limit} />
        ))}
      </dl>
      <h3 className={styles.heading}>{verb} would reset</h3>
      <ul className={styles.words}>
        {(found.resets ?? []).map((what) => (
          <li key={what}>{what}</li>
        ))}
      </ul>
      <p className={styles.soft}>Keeps {(found.keeps ?? []).join(", ")}.</p>
      <h3 className={styles.heading}>Predicted outcome</h3>
      <p>{found.next}</p>
    </>
  );
}

function Instant({ term, at }: { term: string; at: string }) {
  return (
    <>
      <dt>{term}</dt>
      <dd>
        <Timestamp at={at} />
      </dd>
    </>
  );
}

function Limit({ limit }: { limit: NonNullable<StuckWorkload["limits"]>[number] }) {
  return (
    <>
      <dt>{limit.decided ? "Limit reached" : "Limit"}</dt>
      <dd>
        {limitWords(limit)} <code className={styles.soft}>{limit.field}</code>
      </dd>
    </>
  );
}
