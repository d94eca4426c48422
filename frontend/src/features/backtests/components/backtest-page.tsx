// One backtest: its progress and its result.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Ban } from "lucide-react";

import { Button } from "@/components/ui/button";
import { CodeBlock } from "@/components/ui/code-block";
import { RouterLink } from "@/components/ui/router-link";
import { Card, Page } from "@/components/ui/layout";
import { Timestamp } from "@/components/ui/timestamp";
import { PartialNote } from "@/components/ui/states";
import { View } from "@/components/ui/view";
import type { Backtest } from "@/lib/api/types";
import { useIdentity } from "@/lib/hooks/use-session";
import { refusalFor } from "@/lib/permissions";

import { backtestQuery, cancelBacktest } from "../api/backtests";
import { changeWords, isUnfinished, rangeWordsOf } from "../model/backtests";
import styles from "./backtests.module.css";
import { Result } from "./result";
import { StateBadge } from "./state-badge";

export function BacktestPage({ id }: { id: string }) {
  const found = useQuery(backtestQuery(id));
  return (
    <Page
      title="Backtest"
      over={<RouterLink to="/simulations">Simulations</RouterLink>}
      lead={found.data && `${found.data.title || changeWords(found.data)}, ${rangeWordsOf(found.data)}`}
      actions={found.data && isUnfinished(found.data) && <CancelButton id={id} />}
    >
      <View query={found} rows={8}>
        {(job) => (
          <div className={styles.stack}>
            <div className={styles.state}>
              <p role="status">
                <StateBadge job={job} /> Started <Timestamp at={job.createdAt} /> by {job.createdBy.replace(/^user:/, "")}, computed in {(job.workingMilliseconds / 1000).toFixed(1)} s
              </p>
              {isUnfinished(job) && <progress className={styles.progress} aria-label="Progress" max={100} value={job.percent} />}
              {job.failure && <PartialNote>{job.failure}</PartialNote>}
            </div>
            {job.result && <Result job={job} result={job.result} />}
            <Documents job={job} />
          </div>
        )}
      </View>
    </Page>
  );
}

function Documents({ job }: { job: Backtest }) {
  if (!job.documents?.trim()) return null;
  return (
    <Card title="Configuration changes">
      <div className={styles.documents}>
        <CodeBlock label="manifests" text={job.documents} />
      </div>
    </Card>
  );
}

function CancelButton({ id }: { id: string }) {
  const client = useQueryClient();
  const refusal = refusalFor(useIdentity(), { on: "queue" });
  const cancelling = useMutation({
    mutationFn: () => cancelBacktest(id),
    onSuccess: () => client.invalidateQueries({ queryKey: ["backtests"] }),
  });
  return (
    <Button refusal={refusal} onClick={() => cancelling.mutate()}>
      <Ban aria-hidden="true" />
      Cancel backtest
    </Button>
  );
}
