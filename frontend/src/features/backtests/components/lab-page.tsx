// The policy lab: quotas are moved, the past is replayed with them, and a change is applied and checked.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { RotateCcw, Send } from "lucide-react";
import { useEffect, useState } from "react";

import { Button } from "@/components/ui/button";
import { SelectField } from "@/components/ui/fields";
import { Page } from "@/components/ui/layout";
import { RouterLink } from "@/components/ui/router-link";
import { Empty } from "@/components/ui/states";
import { View } from "@/components/ui/view";
import type { Backtest } from "@/lib/api/types";
import { useIdentity } from "@/lib/hooks/use-session";
import { useSettled } from "@/lib/hooks/use-settled";
import { useUrl } from "@/lib/hooks/use-url";
import { isAdmin, refusalFor } from "@/lib/permissions";
import { boundsOf, PRESETS } from "@/lib/time-range";

import { backtestQuery, cancelBacktest } from "../api/backtests";
import { clusterQueuesQuery, labBacktestQuery } from "../api/lab";
import { isUnfinished } from "../model/backtests";
import { changedQueues, changesOf, documentsOf, type Edits, editsIn, editsText, firstResource, type QueueManifest, resourcesOf, sampleStart, unitOf } from "../model/lab";
import { type Applied, ApplyQuotasDialog, AppliedNote } from "./apply-quotas";
import styles from "./lab.module.css";
import { LabResult } from "./lab-result";
import { Predictions } from "./predictions";
import { QuotaSliders } from "./quota-sliders";

const SETTLE_MILLISECONDS = 600;
const MINUTE = 60_000;
const USUAL_RANGE = "7d";
const RANGES = PRESETS.filter(({ value }) => value !== "6h").map(({ value, words }) => ({ value, words }));

export function LabPage() {
  const identity = useIdentity();
  const isForMe = identity === undefined || isAdmin(identity);
  const queues = useQuery({ ...clusterQueuesQuery(), enabled: isAdmin(identity) });
  return (
    <Page title="Policy lab">
      {isForMe ? (
        <View query={queues} rows={8} empty={(found) => (resourcesOf(found.queues).length === 0 ? <NoQuota /> : undefined)}>
          {(found) => <Lab {...found} />}
        </View>
      ) : (
        <Empty title="Admin role required">
          <p>
            The policy lab replays the workloads of all teams. To predict the start of one workload, use the <RouterLink to="/simulations/new">simulator</RouterLink>.
          </p>
        </Empty>
      )}
    </Page>
  );
}

function NoQuota() {
  return (
    <Empty title="No quota to change">
      <p>
        Add a ClusterQueue in <RouterLink to="/configuration">Configuration</RouterLink>.
      </p>
    </Empty>
  );
}

function Lab({ queues, position }: { queues: QueueManifest[]; position: number }) {
  const url = useUrl();
  const resources = resourcesOf(queues);
  const queue = url.get("queue");
  const resource = firstResource(queues, url.get("resource"), queue);
  const edits = editsIn(url.get("set"));
  const changed = changedQueues(queues, edits);
  const [applied, setApplied] = useState<Applied | null>(null);
  const [isApplying, setIsApplying] = useState(false);
  const run = useBacktest(changed.length === 0 ? "" : documentsOf(changed), url.get("range") || USUAL_RANGE, position);
  const refusal = refusalFor(useIdentity(), { on: "queue" }) ?? (changed.length === 0 ? "Change a quota first." : undefined);
  const change = (next: Edits) => url.change({ set: editsText(next) }, "replace");
  const changes = changesOf(queues, edits);
  return (
    <>
      <div className={styles.head}>
        <SelectField label="Resource" value={resource} options={resources.map((value) => ({ value, words: unitOf(value) === "GiB" ? value : unitOf(value) }))} onChange={(event) => url.change({ resource: event.target.value }, "replace")} />
        <SelectField label="Replayed time range" value={url.get("range") || USUAL_RANGE} options={RANGES} onChange={(event) => url.change({ range: event.target.value }, "replace")} />
        <div className={styles.buttons}>
          <Button refusal={changed.length === 0 ? "No quota is changed." : undefined} onClick={() => change({})}>
            <RotateCcw aria-hidden="true" />
            Reset
          </Button>
          <Button look="primary" refusal={refusal} onClick={() => setIsApplying(true)}>
            <Send aria-hidden="true" />
            Apply…
          </Button>
        </div>
      </div>
      {applied && <AppliedNote applied={applied} onClose={() => setApplied(null)} />}
      <div className={styles.columns}>
        <QuotaSliders queues={queues} resource={resource} edits={edits} chosen={queue} onChange={change} />
        <LabResult run={run} changes={changes} resource={resource} chosen={queue} />
      </div>
      <Predictions />
      {isApplying && (
        <ApplyQuotasDialog
          before={queues.filter(({ metadata }) => changed.some((one) => one.metadata.name === metadata.name))}
          after={changed}
          changes={changes}
          backtest={run.job?.state === "Done" ? run.job : undefined}
          onClose={() => setIsApplying(false)}
          onDone={(done) => {
            setIsApplying(false);
            setApplied(done);
            change({});
          }}
        />
      )}
    </>
  );
}

export interface LabRun {
  job: Backtest | undefined;
  error: unknown;
  /** Waits for the quotas to come to rest, or for the answer to the request. */
  isStarting: boolean;
  isSample: boolean;
  onFull: () => void;
}

/** The backtest of what is tried now: a sample once the quotas have come to rest, the whole range on request. */
function useBacktest(documents: string, range: string, position: number): LabRun {
  const client = useQueryClient();
  const [full, setFull] = useState("");
  const settled = useSettled(documents, SETTLE_MILLISECONDS);
  const [end] = useState(() => Math.floor(Date.now() / MINUTE) * MINUTE);
  const [begin] = boundsOf({ last: range, from: "", to: "" }, end);
  // Where the log ended when the page was opened: what comes later begins no other backtest.
  const [head] = useState(position);
  const isSample = full !== documents + range || documents === "";
  const from = isSample ? String(sampleStart(head)) : new Date(begin).toISOString();
  const asked = useQuery(labBacktestQuery(documents === settled ? documents : "", from));
  const id = asked.data?.id;
  const job = useQuery({ ...backtestQuery(id ?? ""), enabled: id !== undefined });
  useEffect(() => {
    if (id === undefined) return undefined;
    // What is not looked at any more need not be computed to its end; asked again, it begins anew.
    return () => {
      const last = client.getQueryData(backtestQuery(id).queryKey);
      if (last !== undefined && !isUnfinished(last)) return;
      client.removeQueries({ queryKey: ["backtests", "asked", documents, from] });
      void cancelBacktest(id).catch(() => undefined);
    };
  }, [client, documents, from, id]);
  return {
    job: documents === "" ? undefined : job.data,
    error: asked.error ?? job.error,
    isStarting: documents !== "" && (documents !== settled || asked.isFetching || (id !== undefined && job.data === undefined && !job.isError)),
    // A log that is younger than the sample, or the range, is replayed as a whole.
    isSample: isSample && job.data !== undefined && job.data.fromPosition > 0 && Date.parse(job.data.beginAt) > begin,
    onFull: () => setFull(documents + range),
  };
}
