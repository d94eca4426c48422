// Backtests: a form for a new one, and the list.
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { History } from "lucide-react";
import { useState } from "react";

import { Button } from "@/components/ui/button";
import { CodeEditor } from "@/components/ui/code-editor";
import { SelectField, TextField } from "@/components/ui/fields";
import { RouterLink } from "@/components/ui/router-link";
import { Card, Page } from "@/components/ui/layout";
import { Empty, ProblemWords } from "@/components/ui/states";
import { problemOf } from "@/lib/api/problem";
import { useIdentity } from "@/lib/hooks/use-session";
import { useTimeRange } from "@/lib/hooks/use-time-range";
import { isAdmin, refusalFor } from "@/lib/permissions";
import { PRESETS, rangeWords } from "@/lib/time-range";

import { askForBacktest } from "../api/backtests";
import { replayedRange } from "../model/backtests";
import styles from "./backtests.module.css";
import lab from "./lab.module.css";
import { SimulationList } from "./simulations-page";

export function BacktestsPage() {
  const identity = useIdentity();
  // A backtest is about the work of all teams: a user without the role admin is told so at once, and what to use instead.
  const isForMe = identity === undefined || isAdmin(identity);
  return (
    <Page title="Backtests" over={<RouterLink to="/simulations">Simulations</RouterLink>}>
      {isForMe ? (
        <div className={styles.stack}>
          <NewBacktest />
          {isAdmin(identity) && <SimulationList kind="Backtest" />}
        </div>
      ) : (
        <Empty title="Admin role required">
          <p>
            Backtests replay the workloads of all teams. To predict the start of one workload, use the <RouterLink to="/simulations/new">simulator</RouterLink>.
          </p>
        </Empty>
      )}
    </Page>
  );
}

const WHOLE_LOG = "all";
const OF_THE_PAGE = "page";

/** The log is replayed with the manifests that are written here, or with what is configured now. */
function NewBacktest() {
  const { history } = useRouter();
  const client = useQueryClient();
  const refusal = refusalFor(useIdentity(), { on: "queue" });
  const [range] = useTimeRange();
  const [chosen, setChosen] = useState(OF_THE_PAGE);
  const [documents, setDocuments] = useState("");
  const [title, setTitle] = useState("");
  const asking = useMutation({
    mutationFn: () => askForBacktest({ ...replayedRange(chosen, range, Date.now()), documents, title: title.trim() }),
    onSuccess: async ({ id }) => {
      await client.invalidateQueries({ queryKey: ["backtests"] });
      history.push(`/simulations/${encodeURIComponent(id)}`);
    },
  });
  const presets = PRESETS.filter(({ value }) => value !== range.last).map(({ value, words }) => ({ value, words }));
  return (
    <>
      <div className={lab.head}>
        <SelectField
          label="Replayed time range"
          value={chosen}
          options={[{ value: OF_THE_PAGE, words: rangeWords(range) }, ...presets, { value: WHOLE_LOG, words: "Whole log" }]}
          onChange={(event) => setChosen(event.target.value)}
        />
        <TextField label="Title (optional)" maxLength={200} value={title} onChange={(event) => setTitle(event.target.value)} />
        <div className={lab.buttons}>
          <Button look="primary" refusal={refusal ?? (asking.isPending ? "In progress…" : undefined)} onClick={() => asking.mutate()}>
            <History aria-hidden="true" />
            Run backtest
          </Button>
        </div>
      </div>
      {asking.isError && (
        <div role="alert">
          <ProblemWords problem={problemOf(asking.error)} />
        </div>
      )}
      <Card title="Changed manifests" aside="none: the current configuration and rules" padded>
        <CodeEditor compact label="Manifests of the other configuration" hint="YAML of the objects that differ, such as a ClusterQueue with another quota" value={documents} onChange={setDocuments} />
      </Card>
    </>
  );
}
