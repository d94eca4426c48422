// Backtests: a form for a new one, and the list.
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { History } from "lucide-react";
import { type SubmitEvent, useState } from "react";

import { Button } from "@/components/ui/button";
import { TextField } from "@/components/ui/fields";
import { RouterLink } from "@/components/ui/router-link";
import { Card, Page } from "@/components/ui/layout";
import { Timestamp } from "@/components/ui/timestamp";
import { PlainTable } from "@/components/ui/plain-table";
import { Empty, ProblemWords } from "@/components/ui/states";
import { View } from "@/components/ui/view";
import { problemOf } from "@/lib/api/problem";
import type { Backtest } from "@/lib/api/types";
import { useIdentity } from "@/lib/hooks/use-session";
import { isAdmin, refusalFor } from "@/lib/permissions";

import { askForBacktest, backtestsQuery } from "../api/backtests";
import { changeWords, rangeWordsOf } from "../model/backtests";
import styles from "./backtests.module.css";
import { StateBadge } from "./state-badge";

export function BacktestsPage() {
  const identity = useIdentity();
  // A backtest is about the work of all teams: a user without the role admin is told so at once, and what to use instead.
  const isForMe = identity === undefined || isAdmin(identity);
  const list = useQuery({ ...backtestsQuery(), enabled: isAdmin(identity) });
  return (
    <Page
      title="Backtests"
      lead="Replay past events with a different configuration and compare wait times, preemptions and placement. Nothing is applied."
    >
      {isForMe ? (
        <div className={styles.stack}>
          <Card title="New backtest" padded>
            <Form />
          </Card>
          <Card title="Backtests">
            <View query={list} rows={3} empty={({ items }) => (items.length === 0 ? <Nothing /> : undefined)}>
              {({ items }) => <List items={items} />}
            </View>
          </Card>
        </div>
      ) : (
        <Empty title="Admin role required">
          <p>
            Backtests replay the workloads of all teams. To predict the start of one workload, use the <RouterLink to="/what-if">simulator</RouterLink>.
          </p>
        </Empty>
      )}
    </Page>
  );
}

function Nothing() {
  return (
    <Empty title="No backtests yet">
      <p>Choose a time range and paste the changed manifests.</p>
    </Empty>
  );
}

function Form() {
  const { history } = useRouter();
  const client = useQueryClient();
  const refusal = refusalFor(useIdentity(), { on: "queue" });
  const [asked, setAsked] = useState({ from: "1", to: "", documents: "" });
  const asking = useMutation({
    mutationFn: () => askForBacktest(asked),
    onSuccess: async ({ id }) => {
      await client.invalidateQueries({ queryKey: ["backtests"] });
      history.push(`/backtests/${encodeURIComponent(id)}`);
    },
  });
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (refusal === undefined) asking.mutate();
  };
  return (
    <form className={styles.form} onSubmit={submit}>
      <div className={styles.fields}>
        <TextField label="From (position or time)" value={asked.from} required onChange={(event) => setAsked({ ...asked, from: event.target.value })} />
        <TextField label="To (default: now)" placeholder="2026-09-24T12:00:00Z" value={asked.to} onChange={(event) => setAsked({ ...asked, to: event.target.value })} />
      </div>
      <label>
        <span className={styles.hint}>Configuration overrides (YAML). Leave empty to replay with current scheduler rules.</span>
        <textarea
          className={styles.editor}
          aria-label="Manifests of the other configuration"
          spellCheck={false}
          rows={8}
          value={asked.documents}
          onChange={(event) => setAsked({ ...asked, documents: event.target.value })}
        />
      </label>
      {asking.isError && (
        <div role="alert">
          <ProblemWords problem={problemOf(asking.error)} />
        </div>
      )}
      <div className={styles.actions}>
        <Button type="submit" look="primary" refusal={refusal}>
          <History aria-hidden="true" />
          Run backtest
        </Button>
      </div>
    </form>
  );
}

function List({ items }: { items: Backtest[] }) {
  return (
    <PlainTable label="Backtests, newest first" heads={["Created", "State", "Changes", "Time range", "By"]}>
      {items.map((job) => (
        <tr key={job.id}>
          <td>
            <RouterLink to={`/backtests/${encodeURIComponent(job.id)}`}>
              <Timestamp at={job.createdAt} />
            </RouterLink>
          </td>
          <td>
            <StateBadge job={job} />
          </td>
          <td>{changeWords(job)}</td>
          <td className="number" title={`Positions ${job.fromPosition} to ${job.toPosition}`}>
            {rangeWordsOf(job)}
          </td>
          <td>{job.createdBy.replace(/^user:/, "")}</td>
        </tr>
      ))}
    </PlainTable>
  );
}
