// What was predicted when quotas were applied, and what became of it.
import { useQuery } from "@tanstack/react-query";

import { Card } from "@/components/ui/layout";
import { PlainTable } from "@/components/ui/plain-table";
import { RouterLink } from "@/components/ui/router-link";
import { Empty } from "@/components/ui/states";
import { Timestamp } from "@/components/ui/timestamp";
import { View } from "@/components/ui/view";
import type { Prediction } from "@/lib/api/types";
import { formatDuration } from "@/lib/format/times";

import { predictionsQuery } from "../api/lab";
import { VerdictBadge } from "./verdict-badge";

type Wait = Prediction["waits"][number];

export function Predictions() {
  const list = useQuery(predictionsQuery());
  return (
    <Card title="Predictions and checks" aside="p95: 95 of 100 workloads start within it">
      <View query={list} rows={2} empty={({ items }) => (items.length === 0 ? <Nothing /> : undefined)}>
        {({ items }) => (
          <PlainTable
            label="Predictions, newest first"
            heads={["Recorded", "Queue", { words: "Predicted p95", figure: true }, { words: "Tolerated", figure: true, spare: true }, "Check", "Result", { words: "Longer than tolerated", figure: true }]}
          >
            {items.flatMap((item) => item.waits.map((wait) => <Row key={`${item.id}/${wait.clusterQueue}`} item={item} wait={wait} />))}
          </PlainTable>
        )}
      </View>
    </Card>
  );
}

function Nothing() {
  return (
    <Empty title="No predictions yet">
      <p>Apply a quota that was backtested: its waits are compared with the prediction after a day.</p>
    </Empty>
  );
}

function Row({ item, wait }: { item: Prediction; wait: Wait }) {
  const longer = wait.startedLater + wait.pendingLonger;
  return (
    <tr>
      <td>
        <RouterLink to={`/simulations/${encodeURIComponent(item.backtest)}`}>
          <Timestamp at={item.recordedAt} />
        </RouterLink>
      </td>
      <th scope="row">{wait.clusterQueue}</th>
      <td data-figure>{formatDuration(wait.p95Seconds)}</td>
      <td data-figure data-spare>
        {formatDuration(wait.limitSeconds)}
      </td>
      <td>
        <Timestamp at={item.checkedAt ?? item.dueAt} />
      </td>
      <td>
        <VerdictBadge verdict={wait.verdict} />
      </td>
      <td data-figure>{wait.verdict === null ? "—" : `${longer} of ${wait.started + wait.pendingLonger}`}</td>
    </tr>
  );
}
